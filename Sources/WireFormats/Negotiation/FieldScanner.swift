/// The grammar pieces of RFC 9110 that media types and `Accept` are made of: tokens, quoted strings, parameters.
struct FieldScanner {
    private let text: [UInt8]
    private(set) var position = 0

    init(_ text: String) {
        self.text = Array(text.utf8)
        skipSpace()
    }

    var isAtEnd: Bool { position == text.count }

    mutating func takeMediaType() -> MediaType? {
        guard let type = takeToken(), takes("/"), let subtype = takeToken(), let parameters = takeParameters() else {
            return nil
        }
        return MediaType(type: type.lowercased(), subtype: subtype.lowercased(), parameters: parameters)
    }

    /// `*( OWS ";" OWS [ parameter ] )`
    private mutating func takeParameters() -> [MediaType.Parameter]? {
        var parameters: [MediaType.Parameter] = []
        while true {
            skipSpace()
            guard takes(";") else { return parameters }
            skipSpace()
            guard let name = takeToken() else { continue }
            guard takes("="), let value = takeToken() ?? takeQuoted() else { return nil }
            parameters.append(.init(name: name.lowercased(), value: value))
        }
    }

    mutating func takeToken() -> String? {
        let start = position
        while position < text.count, Self.isTokenCharacter(text[position]) { position += 1 }
        return position == start ? nil : String(decoding: text[start..<position], as: UTF8.self)
    }

    private mutating func takeQuoted() -> String? {
        guard takes("\"") else { return nil }
        var content: [UInt8] = []
        while position < text.count, text[position] != UInt8(ascii: "\"") {
            if text[position] == UInt8(ascii: "\\") { position += 1 }
            guard position < text.count, text[position] >= 0x20 || text[position] == 0x09, text[position] != 0x7F else {
                return nil
            }
            content.append(text[position])
            position += 1
        }
        return takes("\"") ? String(decoding: content, as: UTF8.self) : nil
    }

    mutating func takes(_ character: Unicode.Scalar) -> Bool {
        guard position < text.count, text[position] == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    mutating func skipSpace() {
        while position < text.count, text[position] == 0x20 || text[position] == 0x09 { position += 1 }
    }

    static func isTokenCharacter(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        case 0x21, 0x23...0x27, 0x2A, 0x2B, 0x2D, 0x2E, 0x5E...0x60, 0x7C, 0x7E: true
        default: false
        }
    }
}
