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
