/// The part of a binary property list that follows its scalars: containers, offset table, trailer.
struct BinaryPropertyListClosing {
    let start: Int
    let scalars: ScalarTable
    let containers: ContainerList
    private var offsets: [Int] = []

    init(start: Int, scalars: ScalarTable, containers: ContainerList) {
        (self.start, self.scalars, self.containers) = (start, scalars, containers)
    }

    mutating func write(top: ObjectReference, to output: inout OutputBuffer) {
        let count = scalars.count + containers.count
        let referenceWidth = ByteWidth.ofInteger(UInt64(count - 1))
        writeContainers(referenceWidth, &output)
        let table = output.count - start
        let offsetWidth = ByteWidth.ofInteger(UInt64(table))
        output.reserve(count * offsetWidth)
        for offset in scalars.offsets { output.appendBigEndian(UInt64(offset - start), width: offsetWidth) }
        for offset in offsets { output.appendBigEndian(UInt64(offset - start), width: offsetWidth) }
        output.append([0, 0, 0, 0, 0, 0, UInt8(offsetWidth), UInt8(referenceWidth)])
        for number in [count, top.number(scalars: scalars.count), table] {
            output.appendBigEndian(UInt64(number), width: 8)
        }
    }

    private mutating func writeContainers(_ width: Int, _ output: inout OutputBuffer) {
        offsets.reserveCapacity(containers.count)
        for container in containers.entries {
            offsets.append(output.count)
            let isArray = container.kind == .array
            let count = container.references.count
            output.appendMarker(isArray ? 0xA0 : 0xD0, count: isArray ? count : count / 2)
            output.reserve(count * width)
            for reference in containers.references[container.references] {
                output.appendBigEndian(UInt64(reference.number(scalars: scalars.count)), width: width)
            }
        }
    }
}
