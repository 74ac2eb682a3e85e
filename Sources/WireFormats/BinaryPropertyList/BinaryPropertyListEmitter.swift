import ValueTree

/// Writes a binary property list in one pass over the value and a second one over its containers.
///
/// Scalars go to the output as they come, each distinct one once. Containers are kept as lists of references until the
/// number of objects, and so the width of a reference, is known; then they follow the scalars. That is why the top
/// object is not number 0, which no reader demands.
struct BinaryPropertyListEmitter: ValueEmitter {
    static let carriesNull = false
    static let isIncremental = false

    private var scalars = ScalarTable()
    /// References of the containers that are still open, on top of each other. Under each container's stands where the
    /// one around it begins.
    private var pending: [ObjectReference] = []
    /// Where the innermost container's references begin.
    private var innermost = 0
    private var containers = ContainerList()
    private var start = 0
    private let largeIntegers: WritingOptions.LargeIntegerPolicy

    init(options: WritingOptions) {
        largeIntegers = options.largeIntegers
        pending.reserveCapacity(32)
    }

    mutating func start(_ output: inout OutputBuffer) {
        start = output.count
        output.append(BinaryPropertyListFormat.magic)
    }

    mutating func begin(_ container: ContainerKind, count: Int?, to output: inout OutputBuffer) {
        pending.append(ObjectReference(bits: UInt32(truncatingIfNeeded: innermost)))
        innermost = pending.count
    }

    mutating func end(_ container: ContainerKind, to output: inout OutputBuffer) {
        let reference = containers.append(container, pending[innermost...])
        let around = Int(pending[innermost - 1].bits)
        pending.removeLast(pending.count - innermost)
        pending[innermost - 1] = reference
        innermost = around
    }

    mutating func finish(_ output: inout OutputBuffer) throws(WireFormatError) {
        guard !scalars.isTooLong, scalars.count + containers.count < ObjectReference.limit else {
            throw WireFormatError(.limitExceeded, "more objects than a binary property list is written with")
        }
        let closing = BinaryPropertyListClosing(start: start, scalars: scalars, containers: containers)
        closing.write(top: pending[0], to: &output)
    }

    /// Makes what was appended since `position` an object, or takes it back where an equal one is there already.
    private mutating func scalar(from position: Int, _ output: inout OutputBuffer) {
        pending.append(scalars.intern(from: position, &output))
    }
}

extension BinaryPropertyListEmitter {
    mutating func key(_ text: UnsafeBufferPointer<UInt8>, to output: inout OutputBuffer) {
        string(text, to: &output)
    }

    mutating func null(to output: inout OutputBuffer) throws(WireFormatError) {
        throw .nullNotRepresentable
    }

    mutating func bool(_ flag: Bool, to output: inout OutputBuffer) {
        let position = output.count
        output.append(flag ? 0x09 : 0x08)
        scalar(from: position, &output)
    }

    mutating func int64(_ number: Int64, to output: inout OutputBuffer) {
        let position = output.count
        if number < 0 {
            output.appendMarked(0x13, UInt64(bitPattern: number), width: 8)
        } else {
            output.appendCount(UInt64(number))
        }
        scalar(from: position, &output)
    }

    mutating func uint64(_ number: UInt64, to output: inout OutputBuffer) {
        guard number > UInt64(Int64.max) else { return int64(Int64(number), to: &output) }
        let position = output.count
        output.appendMarked(0x14, 0, width: 8)
        output.appendBigEndian(number, width: 8)
        scalar(from: position, &output)
    }

    mutating func double(_ number: Double, to output: inout OutputBuffer) {
        let position = output.count
        output.appendMarked(0x23, number.bitPattern, width: 8)
        scalar(from: position, &output)
    }

    mutating func decimal(_ number: WireDecimal, to output: inout OutputBuffer) throws(WireFormatError) {
        switch try PropertyListNumber(number, largeIntegers: largeIntegers) {
        case .int64(let number): int64(number, to: &output)
        case .uint64(let number): uint64(number, to: &output)
        case .double(let number): double(number, to: &output)
        case .text(let digits):
            let position = output.count
            digits.utf8.withContiguousStorageIfAvailable { output.appendBinaryString($0) }
            scalar(from: position, &output)
        }
    }

    mutating func string(_ text: UnsafeBufferPointer<UInt8>, to output: inout OutputBuffer) {
        let position = output.count
        output.appendBinaryString(text)
        scalar(from: position, &output)
    }

    mutating func data(_ bytes: UnsafeBufferPointer<UInt8>, to output: inout OutputBuffer) {
        let position = output.count
        output.appendMarker(0x40, count: bytes.count)
        output.append(bytes)
        scalar(from: position, &output)
    }

    mutating func date(_ instant: WireDate, to output: inout OutputBuffer) throws(WireFormatError) {
        guard instant.secondsSinceReferenceDate.isFinite else {
            throw WireFormatError(.notRepresentable, "a date must be finite")
        }
        let position = output.count
        output.appendMarked(0x33, instant.secondsSinceReferenceDate.bitPattern, width: 8)
        scalar(from: position, &output)
    }

    mutating func uid(_ number: UInt64, to output: inout OutputBuffer) {
        let position = output.count
        let width = ByteWidth.ofInteger(number)
        output.appendMarked(0x80 | UInt8(width - 1), number, width: width)
        scalar(from: position, &output)
    }
}
