/// A document's bytes as UTF-8, and where they begin after the byte order mark and the XML declaration.
///
/// Encodings, first match wins (RFC 7303, section 3): a byte order mark, the charset of the media type, the XML
/// declaration; otherwise UTF-8. Known are UTF-8, UTF-16 (either order), ISO-8859-1 and US-ASCII. What is not UTF-8 is
/// transcoded here, so positions in errors count in the transcoded text.
public struct XMLSource: Sendable {
    public let bytes: [UInt8]
    public let start: Int

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
