import ValueTree

// The layout of `bplist00` (Apple's CFBinaryPList.c):
//
//     "bplist00"
//     objects        marker byte (kind · nibble), then the payload, big-endian
//     offset table   one offset for each object, `offsetSize` bytes each
//     trailer        32 bytes: 6 unused, offsetSize, referenceSize, then as 64-bit numbers
//                    the object count, the top object, the offset of the table
//
//     0x00 null · 0x08 false · 0x09 true
//     0x1n integer of 2^n bytes: 1, 2, 4 unsigned; 8, 16 signed
//     0x22, 0x23 real of 4 or 8 bytes · 0x33 date: a double, seconds since 2001
//     0x4n data · 0x5n ASCII · 0x6n UTF-16 (n counts units); n = 15: an integer object with the count follows
//     0x8n uid of n + 1 bytes
//     0xAn array · 0xDn dictionary: n references to keys, n to values

/// The binary encoding of property lists.
///
/// Every object that is reached is validated; the same object reached twice counts twice against the limits, so that
/// shared children cannot multiply into more than the limits allow. An object that contains itself, a key that is not a
/// string, an integer beyond 64 bits, a date that is not finite or no double's shortest digits, and bytes outside of their encoding are refused, as are
/// sets (there is no value that would keep what they mean). Objects that nothing refers to are not looked at.
///
/// The writer stores equal scalars once, uses the narrowest offsets and references, and puts containers behind the
/// scalars. Null is an error unless ``WritingOptions/nulls`` omits it. A decimal is an integer or a real where one is
/// the same number, otherwise the string of its digits; an integer beyond 64 bits is an error unless
/// ``WritingOptions/largeIntegers`` says otherwise.
public struct BinaryPropertyListFormat: WireFormat {
    /// Creates the format; it has no state.
    public init() {}

    public let name = FormatName.bplist
    public let mediaTypesRead = [MediaType.binaryPlist, .plist, .applePlist, .plainPlist]
    public let mediaTypeWritten = MediaType.binaryPlist
    public let signature: [UInt8]? = BinaryPropertyListFormat.magic
    public let traits = FormatTraits(
        null: false, decimal: .text, nonFinite: true, data: true, date: .double, uid: true, allScalars: true)

    static let magic = [UInt8]("bplist00".utf8)

    public func readTape(_ input: [UInt8], limits: ReadingLimits) throws(WireFormatError) -> Tape {
        var reader = try BinaryPropertyListReader(input, limits: limits)
        try reader.readDocument(input.span)
        return reader.finish()
    }

    public func read(_ input: [UInt8], limits: ReadingLimits) throws(WireFormatError) -> WireValue {
        var reader = try BinaryPropertyListTreeReader(input, limits: limits)
        return try reader.readDocument(input.span)
    }

    public func write(
        _ value: WireValue, options: WritingOptions, to output: inout OutputBuffer
    ) throws(WireFormatError) {
        try BinaryPropertyListEmitter.write(value, options: options, to: &output)
    }

    public func write(_ tape: Tape, options: WritingOptions, to output: inout OutputBuffer) throws(WireFormatError) {
        try BinaryPropertyListEmitter.write(tape, options: options, to: &output)
    }

    public func makeStreamWriter(options: WritingOptions) -> any StreamWriter {
        EmitterStreamWriter<BinaryPropertyListEmitter>(options: options)
    }
}

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
    private let roundsDates: Bool

    init(options: WritingOptions) {
        roundsDates = options.dateFractions == .truncate
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
        var seconds = instant.secondsSinceReferenceDate
        guard instant.isFinite else {
            throw WireFormatError(.notRepresentable, "a date is tens of thousands of years away")
        }
        let carried = WireDate(secondsSinceReferenceDate: seconds)
        guard roundsDates || carried == instant else {
            throw WireFormatError(
                .notRepresentable, "a binary property list carries dates as doubles, which this one is not exactly")
        }
        // Down, so that the last instant of a day stays in it.
        if carried > instant { seconds = seconds.nextDown }
        let position = output.count
        output.appendMarked(0x33, seconds.bitPattern, width: 8)
        scalar(from: position, &output)
    }

    mutating func uid(_ number: UInt64, to output: inout OutputBuffer) {
        let position = output.count
        let width = ByteWidth.ofInteger(number)
        output.appendMarked(0x80 | UInt8(width - 1), number, width: width)
        scalar(from: position, &output)
    }
}

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

/// An object while it is written: a scalar by its number, a container by its number among the containers, which come
/// after all scalars in the file.
struct ObjectReference {
    static let limit = 1 << 31
    let bits: UInt32

    static func scalar(_ number: Int) -> ObjectReference { .init(bits: UInt32(truncatingIfNeeded: number)) }
    static func container(_ number: Int) -> ObjectReference {
        .init(bits: UInt32(truncatingIfNeeded: number) | 1 << 31)
    }

    func number(scalars: Int) -> Int {
        bits >> 31 == 0 ? Int(bits) : scalars + Int(bits & 0x7FFF_FFFF)
    }
}

/// Closed containers and their references: an array's items; a dictionary's keys, then its values. All in one list of
/// words, each container led by its kind and the number of its references.
struct ContainerList {
    private(set) var words: [UInt32] = []
    private(set) var count = 0

    init() {
        words.reserveCapacity(64)
    }

    /// Takes items, or keys and values in turn.
    mutating func append(_ kind: ContainerKind, _ members: ArraySlice<ObjectReference>) -> ObjectReference {
        words.append(UInt32(truncatingIfNeeded: members.count) | (kind == .array ? 0 : 1 << 31))
        if kind == .array {
            for member in members { words.append(member.bits) }
        } else {
            var position = members.startIndex
            while position < members.endIndex {
                words.append(members[position].bits)
                position &+= 2
            }
            position = members.startIndex &+ 1
            while position < members.endIndex {
                words.append(members[position].bits)
                position &+= 2
            }
        }
        count += 1
        return .container(count - 1)
    }

    /// Each container's kind and references, in order.
    @inline(__always)
    func visit(_ body: (ContainerKind, ArraySlice<UInt32>) -> Void) {
        var position = 0
        while position < words.count {
            let (head, first) = (words[position], position + 1)
            position = first + Int(head & 0x7FFF_FFFF)
            body(head >> 31 == 0 ? .array : .dictionary, words[first..<position])
        }
    }
}

/// The narrowest widths of big-endian numbers.
enum ByteWidth {
    /// 1, 2, 4 or 8 bytes.
    static func ofInteger(_ value: UInt64) -> Int {
        value < 1 << 8 ? 1 : value < 1 << 16 ? 2 : value < 1 << 32 ? 4 : 8
    }
}

/// The distinct scalars written so far, found again by their encoded bytes: an open hash table of object numbers, with
/// the bytes themselves in the output.
struct ScalarTable {
    private struct Scalar {
        /// Where it starts in the output.
        var offset: UInt32
        var hash: UInt32
    }

    private var scalars: [Scalar] = []
    /// Object numbers plus one, 0 for free; at most half full. Empty while there are few scalars: those are compared one
    /// by one.
    private var slots: [UInt32] = []
    private static let few = 24
    /// Chosen anew for each document, so that an attacker cannot prepare strings that collide.
    private let seed = UInt64.random(in: .min ... .max)
    private var end = 0
    /// The output grew beyond what offsets can name; nothing was remembered any more.
    private(set) var isTooLong = false

    init() {
        scalars.reserveCapacity(Self.few)
    }

    var count: Int { scalars.count }

    func offset(of number: Int) -> Int { Int(scalars[number].offset) }

    /// Where scalar `number` lies in the output.
    private func range(of number: Int) -> Range<Int> {
        offset(of: number)..<(number + 1 < scalars.count ? offset(of: number + 1) : end)
    }

    mutating func intern(from start: Int, _ output: inout OutputBuffer) -> ObjectReference {
        guard output.count <= UInt32.max else {
            isTooLong = true
            return .scalar(0)
        }
        let hash = output.hash(from: start, seed: seed)
        let (known, slot) = slots.isEmpty ? (findAmongFew(hash, start, output), 0) : find(hash, start, output)
        if let known {
            output.removeBytes(from: start)
            return .scalar(known)
        }
        return insert(hash, slot, start, output.count)
    }

    private func findAmongFew(_ hash: UInt32, _ start: Int, _ output: borrowing OutputBuffer) -> Int? {
        for number in scalars.indices where scalars[number].hash == hash {
            if output.endsWithCopy(of: range(of: number), from: start) { return number }
        }
        return nil
    }

    /// The number of an equal scalar, or the slot for a new one.
    private func find(_ hash: UInt32, _ start: Int, _ output: borrowing OutputBuffer) -> (number: Int?, slot: Int) {
        var slot = Int(hash) & (slots.count - 1)
        while slots[slot] != 0 {
            let number = Int(slots[slot]) - 1
            if scalars[number].hash == hash, output.endsWithCopy(of: range(of: number), from: start) {
                return (number, slot)
            }
            slot = (slot + 1) & (slots.count - 1)
        }
        return (nil, slot)
    }

    private mutating func insert(_ hash: UInt32, _ slot: Int, _ start: Int, _ end: Int) -> ObjectReference {
        scalars.append(Scalar(offset: UInt32(truncatingIfNeeded: start), hash: hash))
        self.end = end
        if !slots.isEmpty { slots[slot] = UInt32(truncatingIfNeeded: scalars.count) }
        if scalars.count * 2 > slots.count, scalars.count >= Self.few { grow() }
        return .scalar(scalars.count - 1)
    }

    private mutating func grow() {
        slots = [UInt32](repeating: 0, count: max(slots.count * 2, 64))
        for number in scalars.indices {
            var slot = Int(scalars[number].hash) & (slots.count - 1)
            while slots[slot] != 0 { slot = (slot + 1) & (slots.count - 1) }
            slots[slot] = UInt32(truncatingIfNeeded: number + 1)
        }
    }
}

extension OutputBuffer {
    @inline(__always)
    mutating func appendBigEndian(_ value: UInt64, width: Int) {
        reserve(8)
        let aligned = (value &<< UInt64(64 &- 8 &* width)).bigEndian
        UnsafeMutableRawPointer(base + used).storeBytes(of: aligned, as: UInt64.self)
        used &+= width
    }

    @inline(__always)
    mutating func appendMarked(_ marker: UInt8, _ value: UInt64, width: Int) {
        append(marker)
        appendBigEndian(value, width: width)
    }

    /// An integer object of the narrowest width; the value is below 2^63.
    mutating func appendCount(_ value: UInt64) {
        let width = ByteWidth.ofInteger(value)
        appendMarked(0x10 | UInt8(width.trailingZeroBitCount), value, width: width)
    }

    /// A marker with its count in the low nibble or behind it.
    @inline(__always)
    mutating func appendMarker(_ marker: UInt8, count: Int) {
        guard count >= 15 else { return append(marker | UInt8(truncatingIfNeeded: count)) }
        append(marker | 15)
        appendCount(UInt64(count))
    }

    /// A string object: ASCII where it is, otherwise UTF-16.
    mutating func appendBinaryString(_ text: UnsafeBufferPointer<UInt8>) {
        guard !SWAR.isASCII(text) else {
            appendMarker(0x50, count: text.count)
            return append(text)
        }
        let string = String(decoding: text, as: UTF8.self)
        appendMarker(0x60, count: string.utf16.count)
        for unit in string.utf16 { appendBigEndian(UInt64(unit), width: 2) }
    }
}

extension OutputBuffer {
    /// A seeded hash by folded multiplication of the bytes from `start` to the end.
    func hash(from start: Int, seed: UInt64) -> UInt32 {
        let bytes = UnsafeRawBufferPointer(start: base + start, count: used - start)
        var state = seed ^ UInt64(bytes.count)
        var position = 0
        if bytes.count >= 32 { (state, position) = Self.hashBlocks(bytes, state) }
        while position + 8 <= bytes.count {
            state = Self.fold(state ^ bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self))
            position += 8
        }
        var rest: UInt64 = 0
        while position < bytes.count {
            rest = rest &<< 8 | UInt64(bytes[position])
            position += 1
        }
        state = Self.fold(Self.fold(state ^ rest) ^ seed)
        return UInt32(truncatingIfNeeded: state ^ state &>> 32)
    }

    /// Whole blocks of 32 bytes, two products at a time that do not wait for each other. Each word is mixed with
    /// the secret state before it is multiplied, so that no word can be chosen to make a product zero.
    private static func hashBlocks(_ bytes: UnsafeRawBufferPointer, _ start: UInt64) -> (UInt64, end: Int) {
        var (one, other) = (start, fold(start))
        let second = ~start
        var position = 0
        while position + 32 <= bytes.count {
            one = fold(word(bytes, position) ^ one, word(bytes, position + 8) ^ second)
            other = fold(word(bytes, position + 16) ^ other, word(bytes, position + 24) ^ second)
            position += 32
        }
        return (one ^ fold(other), position)
    }

    @inline(__always)
    private static func word(_ bytes: UnsafeRawBufferPointer, _ position: Int) -> UInt64 {
        bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self)
    }

    @inline(__always)
    private static func fold(_ value: UInt64, _ factor: UInt64 = 0x9E37_79B9_7F4A_7C15) -> UInt64 {
        let product = value.multipliedFullWidth(by: factor)
        return product.high ^ product.low
    }

    /// Whether the bytes from `start` to the end repeat those in `range`.
    func endsWithCopy(of range: Range<Int>, from start: Int) -> Bool {
        guard range.count == used - start else { return false }
        return SWAR.areEqual(
            UnsafeBufferPointer(start: base + range.lowerBound, count: range.count),
            UnsafeBufferPointer(start: base + start, count: range.count))
    }

    mutating func removeBytes(from start: Int) {
        precondition(start <= used)
        used = start
    }
}
