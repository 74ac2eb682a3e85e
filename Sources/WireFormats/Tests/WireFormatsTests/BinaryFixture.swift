/// A binary property list put together by hand from its objects, with every field of the trailer open to mischief.
struct BinaryFixture {
    var objects: [[UInt8]]
    var offsetSize: UInt8 = 1
    var referenceSize: UInt8 = 1
    var top: UInt64 = 0
    var count: UInt64?
    var tableOffset: UInt64?
    var offsets: [UInt8]?

    var bytes: [UInt8] {
        var bytes = Array("bplist00".utf8)
        var starts: [UInt8] = []
        for object in objects {
            starts.append(UInt8(truncatingIfNeeded: bytes.count))
            bytes += object
        }
        let table = UInt64(bytes.count)
        bytes += offsets ?? starts
        bytes += [0, 0, 0, 0, 0, 0, offsetSize, referenceSize]
        for number in [count ?? UInt64(objects.count), top, tableOffset ?? table] {
            bytes += (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
        }
        return bytes
    }
}
