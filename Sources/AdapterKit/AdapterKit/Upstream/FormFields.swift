/// Names and values as a form sends them (`application/x-www-form-urlencoded`, WHATWG URL, section 5.2). Passwords
/// travel in it, so nothing of it is described.
public struct FormFields: Sendable, ExpressibleByDictionaryLiteral, CustomStringConvertible, CustomReflectable {
    private let pairs: [(name: String, value: String)]

    public init(_ pairs: [(name: String, value: String)]) {
        self.pairs = pairs
    }

    public init(dictionaryLiteral elements: (String, String)...) {
        self.init(elements.map { (name: $0.0, value: $0.1) })
    }

    public var description: String { "<form>" }
    public var customMirror: Mirror { Mirror(self, children: []) }

    var encoded: String {
        pairs.map { Self.escape($0.name) + "=" + Self.escape($0.value) }.joined(separator: "&")
    }

    /// One name or value as a form has it.
    public static func escape(_ text: String) -> String {
        var escaped = ""
        for byte in text.utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, 0x2d, 0x2e, 0x5f, 0x2a:
                escaped.unicodeScalars.append(.init(byte))
            case 0x20: escaped += "+"
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                escaped += digits.utf8.count == 1 ? "%0\(digits)" : "%\(digits)"
            }
        }
        return escaped
    }
}
