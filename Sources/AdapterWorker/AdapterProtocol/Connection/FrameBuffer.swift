/// Finds frames in bytes as they arrive: four bytes with the length of what follows, the most significant first.
struct FrameBuffer {
    private var bytes: [UInt8] = []
    private var start = 0
    private let maximum: Int

    init(maximum: Int) { self.maximum = maximum }

    mutating func append(_ arrived: UnsafeRawBufferPointer) {
        if start == bytes.count {
            bytes.removeAll(keepingCapacity: bytes.capacity <= 1 << 20)
            start = 0
        } else if start > 1 << 16, start > bytes.count / 2 {
            bytes = Array(bytes.dropFirst(start))
            start = 0
        }
        bytes.append(contentsOf: arrived)
    }

    /// What the next whole frame holds, given to `body`; nil where none is there. Throws ``MessageError`` for a frame that
    /// is too long, without waiting for the rest of it.
    mutating func next<Result>(_ body: (UnsafeBufferPointer<UInt8>) throws -> Result) throws -> Result? {
        let available = bytes.count - start
        guard available >= 4 else { return nil }
        let length = bytes[start..<start + 4].reduce(0) { $0 << 8 | Int($1) }
        guard length <= maximum else { throw MessageError("a frame of \(length) bytes, more than \(maximum)") }
        guard available - 4 >= length else { return nil }
        let range = start + 4..<start + 4 + length
        start = range.upperBound
        return try bytes.withUnsafeBufferPointer { try body(UnsafeBufferPointer(rebasing: $0[range])) }
    }
}
