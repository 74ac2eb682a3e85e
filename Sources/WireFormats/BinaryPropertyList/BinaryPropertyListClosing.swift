/// The part of a binary property list that follows its scalars: containers, offset table, trailer.
struct BinaryPropertyListClosing {
    let start: Int
    let scalars: ScalarTable
    let containers: ContainerList

    func write(top: ObjectReference, to output: inout OutputBuffer) {
        let count = scalars.count + containers.count
        let referenceWidth = ByteWidth.ofInteger(UInt64(count - 1))
        let firstContainer = output.count
        writeContainers(referenceWidth, &output)
        let table = output.count - start
        let offsetWidth = ByteWidth.ofInteger(UInt64(table))
        output.reserve(count * offsetWidth)
        for number in 0..<scalars.count {
            output.appendBigEndian(UInt64(scalars.offset(of: number) - start), width: offsetWidth)
        }
        writeContainerOffsets(firstContainer - start, referenceWidth, offsetWidth, &output)
        output.appendBigEndian(UInt64(offsetWidth << 8 | referenceWidth), width: 8)
        for number in [count, top.number(scalars: scalars.count), table] {
            output.appendBigEndian(UInt64(number), width: 8)
        }
    }

    private func writeContainers(_ width: Int, _ output: inout OutputBuffer) {
        containers.visit { kind, references in
            let isArray = kind == .array
            output.appendMarker(isArray ? 0xA0 : 0xD0, count: isArray ? references.count : references.count / 2)
            output.reserve(references.count * width)
            for bits in references {
                let number = ObjectReference(bits: bits).number(scalars: scalars.count)
                output.appendBigEndian(UInt64(number), width: width)
            }
        }
    }

    /// They follow each other, so their sizes tell where they are.
    private func writeContainerOffsets(
        _ first: Int, _ referenceWidth: Int, _ offsetWidth: Int, _ output: inout OutputBuffer
    ) {
        var offset = first
        containers.visit { kind, references in
            output.appendBigEndian(UInt64(offset), width: offsetWidth)
            let count = kind == .array ? references.count : references.count / 2
            let countSize = count < 15 ? 0 : 1 + ByteWidth.ofInteger(UInt64(count))
            offset += 1 + countSize + references.count * referenceWidth
        }
    }
}
