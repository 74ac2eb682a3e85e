import ValueTree

/// Reads a binary property list onto a tape, depth first with a stack of its own.
struct BinaryPropertyListReader: ~Copyable {
    private struct Frame {
        let object: Int
        let references: Int
        let count: Int
        let isDictionary: Bool
        var next = 0
    }

    private var builder: TapeBuilder
    private var objects: BinaryPropertyListObjects
    private var frames: [Frame] = []

    init(_ input: [UInt8], limits: ReadingLimits) throws(WireFormatError) {
        objects = BinaryPropertyListObjects(try BinaryPropertyListLayout(input.span))
        builder = TapeBuilder(input: input, limits: limits, positions: .binary)
    }

    consuming func finish() -> Tape { builder.finish() }

    mutating func readDocument(_ bytes: Span<UInt8>) throws(WireFormatError) {
        try readValue(objects.layout.topObject, bytes)
        while let frame = frames.last {
            guard frame.next < frame.count else {
                try leave(frame)
                continue
            }
            frames[frames.count - 1].next += 1
            let width = objects.layout.referenceSize
            var position = frame.references + frame.next * width
            if frame.isDictionary {
                try readKey(at: position, bytes)
                position += frame.count * width
            }
            try readValue(try objects.layout.reference(at: position, bytes), bytes)
        }
    }

    private mutating func readValue(_ object: Int, _ bytes: Span<UInt8>) throws(WireFormatError) {
        let token = try objects.token(object, bytes)
        switch token.kind {
        case .array, .dictionary: try enter(object, token)
        case .string, .data: try builder.bytes(token, at: token.offset)
        default: try builder.scalar(token, at: try objects.layout.offset(of: object, bytes))
        }
    }

    private mutating func readKey(at position: Int, _ bytes: Span<UInt8>) throws(WireFormatError) {
        let token = try objects.key(at: position, bytes)
        let key = TapeToken(.key, offset: token.offset, length: token.length, storage: token.storage)
        try builder.key(key, at: token.offset)
    }

    private mutating func enter(_ object: Int, _ token: TapeToken) throws(WireFormatError) {
        try objects.enter(object, at: token.offset)
        let isDictionary = token.kind == .dictionary
        try builder.begin(isDictionary ? .dictionary : .array, at: token.offset)
        frames.append(
            Frame(object: object, references: token.offset, count: token.length, isDictionary: isDictionary))
    }

    private mutating func leave(_ frame: Frame) throws(WireFormatError) {
        try builder.end(at: frame.references)
        objects.leave(frame.object)
        frames.removeLast()
    }
}

/// The trailer of a binary property list, checked against the document's size: the offset table lies between the header
/// and the trailer, so that reading an entry needs no further check but its index.
struct BinaryPropertyListLayout {
    static let trailerSize = 32
    let offsetSize: Int
    let referenceSize: Int
    let objectCount: Int
    let topObject: Int
    let tableOffset: Int

    init(_ bytes: Span<UInt8>) throws(WireFormatError) {
        let magic = BinaryPropertyListFormat.magic
        let trailer = bytes.count - Self.trailerSize
        guard trailer > magic.count, magic.indices.allSatisfy({ bytes[$0] == magic[$0] }) else {
            throw Self.malformed("not a binary property list", at: 0)
        }
        offsetSize = Int(bytes[trailer + 6])
        referenceSize = Int(bytes[trailer + 7])
        guard (1...8).contains(offsetSize), (1...8).contains(referenceSize) else {
            throw Self.malformed("the trailer names an impossible width", at: trailer + 6)
        }
        let count = bytes.bigEndian(at: trailer + 8, width: 8)
        let top = bytes.bigEndian(at: trailer + 16, width: 8)
        let table = bytes.bigEndian(at: trailer + 24, width: 8)
        guard table > UInt64(magic.count), table < UInt64(trailer) else {
            throw Self.malformed("the offset table lies outside of the document", at: trailer + 24)
        }
        guard count > 0, count <= (UInt64(trailer) - table) / UInt64(offsetSize) else {
            throw Self.malformed("the offset table is longer than the document", at: trailer + 8)
        }
        guard top < count else { throw Self.malformed("the top object does not exist", at: trailer + 16) }
        (objectCount, topObject, tableOffset) = (Int(count), Int(top), Int(table))
    }

    /// Where an object starts: between the header and the offset table.
    func offset(of object: Int, _ bytes: Span<UInt8>) throws(WireFormatError) -> Int {
        let entry = tableOffset + object * offsetSize
        let offset = bytes.bigEndian(at: entry, width: offsetSize)
        guard offset >= 8, offset < UInt64(tableOffset) else {
            throw Self.malformed("an object's offset lies outside of the objects", at: entry)
        }
        return Int(offset)
    }

    /// The object that a reference at `position` names. The caller knows that the reference lies inside the objects.
    func reference(at position: Int, _ bytes: Span<UInt8>) throws(WireFormatError) -> Int {
        let object = bytes.bigEndian(at: position, width: referenceSize)
        guard object < UInt64(objectCount) else {
            throw Self.malformed("a reference to an object that does not exist", at: position)
        }
        return Int(object)
    }

    static func malformed(_ message: String, at offset: Int) -> WireFormatError {
        WireFormatError(.malformed, message, at: .init(offset: offset))
    }
}

extension Span<UInt8> {
    /// An unsigned number of 1 to 8 bytes. Behind whatever is read stands the trailer, so eight bytes are nearly always
    /// there.
    @inline(__always)
    func bigEndian(at position: Int, width: Int) -> UInt64 {
        guard position >= 0, position &+ 8 <= count else { return bigEndian(atEnd: position, width) }
        let word = UInt64(bigEndian: bytes.unsafeLoadUnaligned(fromByteOffset: position, as: UInt64.self))
        return word &>> UInt64(64 &- 8 &* width)
    }

    private func bigEndian(atEnd position: Int, _ width: Int) -> UInt64 {
        var value: UInt64 = 0
        for index in position..<position + width { value = value &<< 8 | UInt64(self[index]) }
        return value
    }
}

/// One object at a time, as a token. A container's token has the position of its first reference as its offset and the
/// number of its members as its length.
extension BinaryPropertyListLayout {
    func object(_ object: Int, _ bytes: Span<UInt8>) throws(WireFormatError) -> TapeToken {
        let start = try offset(of: object, bytes)
        let marker = bytes[start]
        switch marker >> 4 {
        case 0x0: return try constant(marker, start)
        case 0x1: return try integer(bytes, start)
        case 0x2, 0x3: return try real(marker, bytes, start)
        case 0x4: return try counted(.data, width: 1, bytes, start)
        case 0x5: return try ascii(bytes, start)
        case 0x6: return try utf16(bytes, start)
        case 0x8: return try uid(marker, bytes, start)
        case 0xA: return try counted(.array, width: referenceSize, bytes, start)
        case 0xB, 0xC:
            throw WireFormatError(.refused, "a set has no place in the value tree", at: .init(offset: start))
        case 0xD: return try counted(.dictionary, width: 2 * referenceSize, bytes, start)
        default: throw Self.malformed("an unknown kind of object", at: start)
        }
    }

    private func constant(_ marker: UInt8, _ start: Int) throws(WireFormatError) -> TapeToken {
        switch marker {
        case 0x00: TapeToken(.null)
        case 0x08: TapeToken(.false)
        case 0x09: TapeToken(.true)
        default: throw Self.malformed("an unknown kind of object", at: start)
        }
    }

    private func integer(_ bytes: Span<UInt8>, _ start: Int) throws(WireFormatError) -> TapeToken {
        let width = try width(bytes[start], bytes, start)
        if width < 8 { return TapeToken(.int64, bits: bytes.bigEndian(at: start + 1, width: width)) }
        let low = bytes.bigEndian(at: start + 1 + width - 8, width: 8)
        if width == 8 { return TapeToken(.int64, bits: low) }
        let high = bytes.bigEndian(at: start + 1, width: 8)
        let signExtension: UInt64 = low >> 63 == 0 ? 0 : .max
        if high == signExtension { return TapeToken(.int64, bits: low) }
        guard high == 0 else { throw Self.malformed("an integer beyond 64 bits", at: start) }
        return TapeToken(.uint64, bits: low)
    }

    /// The bytes of an integer: 1, 2, 4, 8 or 16, inside of the objects.
    private func width(_ marker: UInt8, _ bytes: Span<UInt8>, _ start: Int) throws(WireFormatError) -> Int {
        let width = 1 << Int(marker & 15)
        guard marker >> 4 == 1, width <= 16 else { throw Self.malformed("an integer is expected", at: start) }
        try require(width, after: start)
        return width
    }

    private func real(_ marker: UInt8, _ bytes: Span<UInt8>, _ start: Int) throws(WireFormatError) -> TapeToken {
        switch marker {
        case 0x22:
            try require(4, after: start)
            let bits = UInt32(truncatingIfNeeded: bytes.bigEndian(at: start + 1, width: 4))
            return TapeToken(.double, bits: Double(Float(bitPattern: bits)).bitPattern)
        case 0x23, 0x33:
            try require(8, after: start)
            let bits = bytes.bigEndian(at: start + 1, width: 8)
            if marker == 0x23 { return TapeToken(.double, bits: bits) }
            let seconds = Double(bitPattern: bits)
            let instant = WireDate(secondsSinceReferenceDate: seconds)
            // What is too far away is no format's: the shape's check can name its field.
            guard seconds.isFinite, !instant.isFinite || instant.secondsSinceReferenceDate == seconds else {
                throw Self.malformed("a date is not finite, or has digits beyond an attosecond", at: start)
            }
            return TapeToken(date: instant)
        default: throw Self.malformed("a real or a date of an impossible width", at: start)
        }
    }

    private func uid(_ marker: UInt8, _ bytes: Span<UInt8>, _ start: Int) throws(WireFormatError) -> TapeToken {
        let width = Int(marker & 15) + 1
        guard width <= 8 else { throw Self.malformed("a uid beyond 64 bits", at: start) }
        try require(width, after: start)
        return TapeToken(.uid, bits: bytes.bigEndian(at: start + 1, width: width))
    }

    private func ascii(_ bytes: Span<UInt8>, _ start: Int) throws(WireFormatError) -> TapeToken {
        let token = try counted(.string, width: 1, bytes, start)
        guard SWAR.isASCII(bytes, token.offset..<token.offset + token.length) else {
            throw Self.malformed("an ASCII string with other bytes", at: start)
        }
        return token
    }

    private func utf16(_ bytes: Span<UInt8>, _ start: Int) throws(WireFormatError) -> TapeToken {
        let units = try counted(.string, width: 2, bytes, start)
        guard UTF16Text.isValid(bytes, units.offset..<units.offset + 2 * units.length) else {
            throw Self.malformed("a string with a lone surrogate", at: start)
        }
        return TapeToken(.string, offset: units.offset, length: 2 * units.length, storage: .utf16)
    }

    /// Reads the count behind a marker and checks that so many elements fit.
    private func counted(
        _ kind: TapeToken.Kind, width: Int, _ bytes: Span<UInt8>, _ start: Int
    ) throws(WireFormatError) -> TapeToken {
        var (count, body) = (UInt64(bytes[start] & 15), start + 1)
        if count == 15 {
            guard body < tableOffset else { throw Self.malformed("an object is cut off", at: start) }
            let digits = try self.width(bytes[body], bytes, body)
            guard digits <= 8 else { throw Self.malformed("an object is cut off", at: start) }
            count = bytes.bigEndian(at: body + 1, width: digits)
            body += 1 + digits
        }
        guard count <= UInt64(tableOffset - body) / UInt64(width) else {
            throw Self.malformed("an object is cut off", at: start)
        }
        return TapeToken(kind, offset: body, length: Int(count))
    }

    private func require(_ count: Int, after start: Int) throws(WireFormatError) {
        guard start + count < tableOffset else { throw Self.malformed("an object is cut off", at: start) }
    }
}

/// The objects of a document, each decoded once, and the containers that are open.
struct BinaryPropertyListObjects: ~Copyable {
    let layout: BinaryPropertyListLayout
    /// `end` stands for an object that has not been decoded.
    private var decoded: [TapeToken]
    private var isOpen: [Bool]

    init(_ layout: BinaryPropertyListLayout) {
        self.layout = layout
        decoded = Array(repeating: TapeToken(.end), count: layout.objectCount)
        isOpen = Array(repeating: false, count: layout.objectCount)
    }

    mutating func token(_ object: Int, _ bytes: Span<UInt8>) throws(WireFormatError) -> TapeToken {
        let known = decoded[object]
        if known.kind != .end { return known }
        let token = try layout.object(object, bytes)
        decoded[object] = token
        return token
    }

    /// The string that a key's reference names.
    mutating func key(at position: Int, _ bytes: Span<UInt8>) throws(WireFormatError) -> TapeToken {
        let token = try token(try layout.reference(at: position, bytes), bytes)
        guard token.kind == .string else {
            throw BinaryPropertyListLayout.malformed("a key that is not a string", at: position)
        }
        return token
    }

    mutating func enter(_ object: Int, at offset: Int) throws(WireFormatError) {
        guard !isOpen[object] else {
            throw BinaryPropertyListLayout.malformed("an object contains itself", at: offset)
        }
        isOpen[object] = true
    }

    mutating func leave(_ object: Int) {
        isOpen[object] = false
    }
}
