/// The path and query of a request target, parsed strictly (RFC 3986, origin form).
final class RequestTarget: Sendable {
    /// As it came.
    let text: String
    /// As it came, without the query.
    let path: String
    /// Between the slashes, percent-decoded; `/a/b` is `["a", "b"]`, `/a/` is `["a", ""]`.
    let segments: [String]
    let query: [QueryItem]

    struct QueryItem: Sendable, Equatable {
        let name: String
        let value: String
    }

    /// Nil where the text is not in origin form or an escape is broken.
    init?(_ text: String) {
        guard text.utf8.first == UInt8(ascii: "/") else { return nil }
        let (path, query) = text.splitOnce(at: "?")
        guard let segments = Self.segments(path), let items = FormEncoding.items(query ?? "") else { return nil }
        self.text = text
        self.path = String(path)
        self.segments = segments
        self.query = items
    }

    /// The path alone of a text that is too long or not well-formed: as much of it as `limit` bytes have, so that an
    /// error can be written in the shape of the contract there. The root where it has no path.
    static func path(of text: String, atMost limit: Int) -> RequestTarget {
        let path = text.utf8.prefix(limit).prefix { $0 != UInt8(ascii: "?") }
        if let target = RequestTarget(String(decoding: path, as: UTF8.self)) { return target }
        // The limit may have cut an escape.
        let whole = path.lastIndex(of: UInt8(ascii: "/")).map { path[..<$0] } ?? path.prefix(0)
        return RequestTarget(String(decoding: whole, as: UTF8.self)) ?? .root
    }

    /// The first value of a query parameter.
    subscript(name: String) -> String? {
        query.first { $0.name == name }?.value
    }

    private static func segments(_ path: Substring) -> [String]? {
        var segments: [String] = []
        // By bytes: `/` and a combining mark after it are one `Character`.
        for piece in path.utf8.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
            guard let decoded = PercentEncoding.decode(Substring(piece)) else { return nil }
            segments.append(decoded)
        }
        return segments
    }
}

extension RequestTarget {
    static let root = RequestTarget("/")!
}

extension String {
    /// Whatever follows the separator, a combining mark too.
    func splitOnce(at separator: Unicode.Scalar) -> (Substring, Substring?) {
        guard let position = unicodeScalars.firstIndex(of: separator) else { return (self[...], nil) }
        return (self[..<position], self[unicodeScalars.index(after: position)...])
    }
}

/// Percent-encoding (RFC 3986, section 2.1) of UTF-8.
enum PercentEncoding {
    /// Nil where an escape is cut or no hexadecimal, the result is not UTF-8, or it holds U+0000.
    static func decode(_ text: Substring, plusIsSpace: Bool = false) -> String? {
        guard text.utf8.contains(where: { $0 == percent || (plusIsSpace && $0 == plus) }) else {
            return text.utf8.contains(0) ? nil : String(text)
        }
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            switch byte {
            case percent:
                guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit) else {
                    return nil
                }
                bytes.append(high << 4 | low)
            case plus where plusIsSpace: bytes.append(0x20)
            default: bytes.append(byte)
            }
        }
        return bytes.contains(0) ? nil : String(validating: bytes, as: UTF8.self)
    }

    /// Everything but unreserved characters is escaped, so the result can stand in a path segment or a query value.
    static func encode(_ text: String) -> String {
        var encoded = ""
        for byte in text.utf8 {
            if isUnreserved(byte) {
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                let digits = String(byte, radix: 16, uppercase: true)
                encoded += digits.utf8.count == 1 ? "%0\(digits)" : "%\(digits)"
            }
        }
        return encoded
    }

    private static let percent = UInt8(ascii: "%")
    private static let plus = UInt8(ascii: "+")

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "-._~".utf8.contains(byte)
        }
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

/// `application/x-www-form-urlencoded`, which queries use too.
enum FormEncoding {
    /// More parameters than this in one query are refused.
    static let maximumParameters = 1_000

    /// Nil where an escape is broken or there are too many.
    static func items(_ text: Substring, atMost maximum: Int = maximumParameters) -> [RequestTarget.QueryItem]? {
        var items: [RequestTarget.QueryItem] = []
        for piece in text.utf8.split(separator: UInt8(ascii: "&")) {
            let (name, value) = String(Substring(piece)).splitOnce(at: "=")
            guard items.count < maximum,
                let decodedName = PercentEncoding.decode(name, plusIsSpace: true),
                let decodedValue = PercentEncoding.decode(value ?? "", plusIsSpace: true)
            else { return nil }
            items.append(.init(name: decodedName, value: decodedValue))
        }
        return items
    }
}
