/// A document's bytes as UTF-8, and where they begin after the byte order mark and the XML declaration.
///
/// Encodings, first match wins (RFC 7303, section 3): a byte order mark, the charset of the media type, the XML
/// declaration; otherwise UTF-8. Known are UTF-8, UTF-16 (either order), ISO-8859-1 and US-ASCII. What is not UTF-8 is
/// transcoded here, so positions in errors count in the transcoded text.
public struct XMLSource: Sendable {
    /// The document in UTF-8.
    public let bytes: [UInt8]
    /// Where the document begins, after a byte order mark.
    public let start: Int

    /// Creates an XML source with these values.
    public init(_ input: [UInt8], charset: String? = nil) throws(WireFormatError) {
        let named = try charset.map { name throws(WireFormatError) in try XMLEncoding.named(name, at: 0) }
        switch XMLEncoding.Mark(input.span) {
        case .utf8: self = try XMLSource(utf8: input, from: 3, declares: [.utf8, .ascii])
        case .utf16(let isBigEndian, let length):
            self = try XMLSource(utf16: input, isBigEndian: isBigEndian, skipping: length)
        case .unsupported: throw WireFormatError(.refused, "UTF-32 is not supported", at: .init(offset: 0))
        case nil: self = try XMLSource(unmarked: input, charset: named)
        }
    }

    private init(
        utf8 input: [UInt8], from start: Int, declares allowed: [XMLEncoding]?
    ) throws(WireFormatError) {
        let declaration = try XMLDeclaration(input.span, at: start)
        if let allowed { try declaration.requireEncoding(allowed, input.span) }
        self.init(bytes: input, start: declaration.end)
    }

    private init(utf16 input: [UInt8], isBigEndian: Bool, skipping length: Int) throws(WireFormatError) {
        let bytes = try XMLEncoding.utf8(utf16: input.span, from: length, isBigEndian: isBigEndian)
        try self.init(utf8: bytes, from: 0, declares: [.utf16])
    }

    private init(unmarked input: [UInt8], charset: XMLEncoding?) throws(WireFormatError) {
        if charset == .utf16 {
            // RFC 2781, section 4.3: without a mark, big-endian.
            try self.init(
                utf8: XMLEncoding.utf8(utf16: input.span, from: 0, isBigEndian: true), from: 0, declares: nil)
            return
        }
        let declaration = try XMLDeclaration(input.span, at: 0)
        var encoding = charset
        if encoding == nil { encoding = try declaration.encoding(input.span) }
        switch encoding ?? .utf8 {
        case .utf8: self.init(bytes: input, start: declaration.end)
        case .utf16: throw declaration.mismatch(input.span)
        case .latin1: self.init(bytes: XMLEncoding.utf8(latin1: input), start: declaration.end)
        case .ascii:
            try XMLEncoding.requireASCII(input.span)
            self.init(bytes: input, start: declaration.end)
        }
    }

    /// UTF-8 whose beginning the caller has looked at.
    init(bytes: [UInt8], start: Int) {
        (self.bytes, self.start) = (bytes, start)
    }
}

/// The encodings that documents may come in.
enum XMLEncoding: Sendable, Equatable {
    case utf8, utf16, latin1, ascii

    private static let names: [String: XMLEncoding] = [
        "utf-8": .utf8, "utf8": .utf8, "utf-16": .utf16, "utf-16le": .utf16, "utf-16be": .utf16,
        "iso-8859-1": .latin1, "iso_8859-1": .latin1, "latin1": .latin1, "us-ascii": .ascii, "ascii": .ascii,
    ]

    /// The values of a `charset` parameter.
    static let charsets = Set(names.keys)

    static func named(_ name: String, at offset: Int) throws(WireFormatError) -> XMLEncoding {
        guard let known = names[name.lowercased()] else {
            throw WireFormatError(.refused, "the encoding is not supported", at: .init(offset: offset))
        }
        return known
    }

    /// What the first bytes tell.
    enum Mark {
        case utf8
        /// `length` bytes of byte order mark; none where `<` gives the order away.
        case utf16(isBigEndian: Bool, length: Int)
        case unsupported

        init?(_ input: Span<UInt8>) {
            func byte(_ place: Int) -> Int { place < input.count ? Int(input[place]) : -1 }
            switch (byte(0), byte(1), byte(2), byte(3)) {
            case (0xEF, 0xBB, 0xBF, _): self = .utf8
            case (0, 0, 0xFE, 0xFF), (0xFF, 0xFE, 0, 0), (0, 0, 0, 0x3C), (0x3C, 0, 0, 0): self = .unsupported
            case (0xFE, 0xFF, _, _): self = .utf16(isBigEndian: true, length: 2)
            case (0xFF, 0xFE, _, _): self = .utf16(isBigEndian: false, length: 2)
            case (0, 0x3C, 0, 0x3F): self = .utf16(isBigEndian: true, length: 0)
            case (0x3C, 0, 0x3F, 0): self = .utf16(isBigEndian: false, length: 0)
            default: return nil
            }
        }
    }
}

extension XMLEncoding {
    static func utf8(latin1 input: [UInt8]) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(input.count + input.count / 8)
        for byte in input {
            if byte < 0x80 {
                output.append(byte)
            } else {
                output.append(0xC0 | byte >> 6)
                output.append(0x80 | byte & 0x3F)
            }
        }
        return output
    }

    static func utf8(
        utf16 input: Span<UInt8>, from start: Int, isBigEndian: Bool
    ) throws(WireFormatError) -> [UInt8] {
        guard (input.count - start) % 2 == 0 else { throw broken(at: input.count) }
        var output: [UInt8] = []
        output.reserveCapacity(input.count)
        var position = start
        while position < input.count {
            let unit = self.unit(input, position, isBigEndian)
            position += 2
            if let scalar = Unicode.Scalar(unit) {
                output.append(contentsOf: UTF8.encode(scalar)!)
                continue
            }
            guard UTF16.isLeadSurrogate(unit), position < input.count else { throw broken(at: position - 2) }
            let trail = self.unit(input, position, isBigEndian)
            guard UTF16.isTrailSurrogate(trail) else { throw broken(at: position - 2) }
            position += 2
            let scalar = Unicode.Scalar(0x10000 + UInt32(unit & 0x3FF) << 10 + UInt32(trail & 0x3FF))!
            output.append(contentsOf: UTF8.encode(scalar)!)
        }
        return output
    }

    static func requireASCII(_ input: Span<UInt8>) throws(WireFormatError) {
        guard !SWAR.isASCII(input, 0..<input.count) else { return }
        for index in 0..<input.count where input[index] >= 0x80 {
            throw WireFormatError(
                .malformed, "a byte that is not ASCII in an ASCII document", at: .init(offset: index, in: input))
        }
    }

    private static func unit(_ input: Span<UInt8>, _ position: Int, _ isBigEndian: Bool) -> UInt16 {
        let (first, second) = (UInt16(input[position]), UInt16(input[position + 1]))
        return isBigEndian ? first << 8 | second : second << 8 | first
    }

    private static func broken(at offset: Int) -> WireFormatError {
        WireFormatError(.malformed, "the text is not valid UTF-16", at: .init(offset: offset))
    }
}

/// The XML declaration (XML 1.0, section 2.8), strictly:
///
///     <?xml version="1.n" encoding="name"? standalone="yes|no"? ?>
///
/// A version 1.n beyond 1.0 is read as 1.0, as the fifth edition has it.
struct XMLDeclaration {
    private(set) var end: Int
    private var encodingName: Range<Int>?
    private let start: Int
    /// `UTF-8`, the first byte lowest.
    private static let utf8Name: UInt64 = 0x38_2D46_5455

    /// Where there is none, it is empty.
    init(_ text: Span<UInt8>, at start: Int) throws(WireFormatError) {
        (end, self.start) = (start, start)
        guard takes("<?xml", text), end < text.count, XMLCharacters.isSpace(text[end]) else {
            end = start
            return
        }
        guard let version = takePseudoAttribute("version", text), Self.isVersion(text, version) else {
            throw malformed(text)
        }
        if let name = takePseudoAttribute("encoding", text) {
            guard Self.isEncodingName(text, name) else { throw malformed(text) }
            encodingName = name
        }
        if let standalone = takePseudoAttribute("standalone", text) {
            let word = String(decoding: Array(copying: text, standalone), as: UTF8.self)
            guard word == "yes" || word == "no" else { throw malformed(text) }
        }
        skipSpace(text)
        guard takes("?>", text) else { throw malformed(text) }
    }

    func encoding(_ text: Span<UInt8>) throws(WireFormatError) -> XMLEncoding? {
        guard let encodingName else { return nil }
        // Nearly all documents; the names below need a String and a table.
        if encodingName.count == 5, SWAR.word(text, at: encodingName.lowerBound) & 0xFF_FFFF_FFFF == Self.utf8Name {
            return .utf8
        }
        let name = String(decoding: Array(copying: text, encodingName), as: UTF8.self)
        return try XMLEncoding.named(name, at: encodingName.lowerBound)
    }

    func requireEncoding(_ allowed: [XMLEncoding], _ text: Span<UInt8>) throws(WireFormatError) {
        guard let declared = try encoding(text), !allowed.contains(declared) else { return }
        throw mismatch(text)
    }

    func mismatch(_ text: Span<UInt8>) -> WireFormatError {
        let offset = encodingName?.lowerBound ?? start
        return WireFormatError(
            .malformed, "the declared encoding is not the one of the bytes", at: .init(offset: offset, in: text))
    }

    private func malformed(_ text: Span<UInt8>) -> WireFormatError {
        WireFormatError(.malformed, "the XML declaration is malformed", at: .init(offset: end, in: text))
    }
}

extension XMLDeclaration {
    /// The value of ` name = "value"`; nil, and nothing taken, where that does not follow.
    private mutating func takePseudoAttribute(_ name: StaticString, _ text: Span<UInt8>) -> Range<Int>? {
        let before = end
        guard skipSpace(text), takes(name, text) else {
            end = before
            return nil
        }
        skipSpace(text)
        guard takes("=", text) else { return nil }
        skipSpace(text)
        guard end < text.count, text[end] == UInt8(ascii: "\"") || text[end] == UInt8(ascii: "'") else { return nil }
        let valueStart = end + 1
        var position = valueStart
        while position < text.count, text[position] != text[end], text[position] != UInt8(ascii: ">") { position += 1 }
        guard position < text.count, text[position] == text[end] else { return nil }
        end = position + 1
        return valueStart..<position
    }

    @discardableResult
    private mutating func skipSpace(_ text: Span<UInt8>) -> Bool {
        let before = end
        while end < text.count, XMLCharacters.isSpace(text[end]) { end += 1 }
        return end > before
    }

    private mutating func takes(_ word: StaticString, _ text: Span<UInt8>) -> Bool {
        let length = word.utf8CodeUnitCount
        guard end + length <= text.count else { return false }
        for index in 0..<length where text[end + index] != word.utf8Start[index] { return false }
        end += length
        return true
    }

    private static func isVersion(_ text: Span<UInt8>, _ range: Range<Int>) -> Bool {
        guard range.count >= 3, text[range.lowerBound] == 0x31, text[range.lowerBound + 1] == 0x2E else { return false }
        return (range.lowerBound + 2..<range.upperBound).allSatisfy { text[$0] &- 0x30 < 10 }
    }

    private static func isEncodingName(_ text: Span<UInt8>, _ range: Range<Int>) -> Bool {
        guard !range.isEmpty, text[range.lowerBound] | 0x20 &- 0x61 < 26 else { return false }
        return range.allSatisfy { text[$0] != UInt8(ascii: ":") && XMLCharacters.isASCIINameByte(text[$0]) }
    }
}
