/// A media type (RFC 9110, section 8.3.1), type, subtype and parameter names in lower case.
public struct MediaType: Sendable, Hashable {
    /// The type, in lower case: `application`.
    public let type: String
    /// The subtype, in lower case: `json`.
    public let subtype: String
    /// The parameters in order.
    public let parameters: [Parameter]

    /// One parameter.
    public struct Parameter: Sendable, Hashable {
        /// The name, in lower case.
        public let name: String
        /// The value without quotes.
        public let value: String
    }

    /// Reads a header field's value; nil where it breaks the grammar or names a parameter twice.
    public init?(_ text: String) {
        var scanner = FieldScanner(text)
        guard let parsed = scanner.takeMediaType(), scanner.isAtEnd else { return nil }
        self = parsed
    }

    init?(type: String, subtype: String, parameters: [Parameter]) {
        guard Set(parameters.map(\.name)).count == parameters.count else { return nil }
        self.type = type
        self.subtype = subtype
        self.parameters = parameters
    }

    /// For types written in source code.
    init(known text: StaticString) {
        guard let parsed = MediaType("\(text)") else { preconditionFailure("not a media type: \(text)") }
        self = parsed
    }
}

extension MediaType {
    /// `application/json`
    public static let json = MediaType(known: "application/json")
    /// `application/cbor`
    public static let cbor = MediaType(known: "application/cbor")
    /// `application/x-plist`
    public static let plist = MediaType(known: "application/x-plist")
    /// `application/x-apple-plist`
    public static let applePlist = MediaType(known: "application/x-apple-plist")
    /// `application/plist`
    public static let plainPlist = MediaType(known: "application/plist")
    /// `text/x-apple-plist+xml`
    public static let applePlistXML = MediaType(known: "text/x-apple-plist+xml")
    /// `application/x-apple-binary-plist`
    public static let binaryPlist = MediaType(known: "application/x-apple-binary-plist")
    /// `application/xml`
    public static let xml = MediaType(known: "application/xml")
    /// `text/xml`
    public static let textXML = MediaType(known: "text/xml")

    /// Type and subtype without parameters.
    public var essence: String { "\(type)/\(subtype)" }

    /// Whether type and subtype are equal, parameters aside.
    public func hasSameEssence(as other: MediaType) -> Bool {
        type == other.type && subtype == other.subtype
    }

    /// What follows the last `+` of the subtype, `json` in `application/problem+json`.
    public var structuredSuffix: String? {
        guard let plus = subtype.lastIndex(of: "+") else { return nil }
        return String(subtype[subtype.index(after: plus)...])
    }

    /// The value of the parameter with this name; nil where there is none.
    public subscript(name: String) -> String? {
        parameters.first { $0.name == name }?.value
    }

    /// The `charset` parameter in lower case.
    public var charset: String? { self["charset"]?.lowercased() }
}

extension MediaType: CustomStringConvertible {
    public var description: String {
        parameters.reduce(essence) { text, parameter in
            let isToken = !parameter.value.isEmpty && parameter.value.utf8.allSatisfy(FieldScanner.isTokenCharacter)
            return "\(text); \(parameter.name)=\(isToken ? parameter.value : Self.quoted(parameter.value))"
        }
    }

    private static func quoted(_ value: String) -> String {
        let escaped = value.unicodeScalars.map { $0 == "\"" || $0 == "\\" ? "\\\($0)" : "\($0)" }
        return "\"\(escaped.joined())\""
    }
}

/// One element of `Accept` (RFC 9110, section 12.5.1): a media type or a wildcard, with its weight.
public struct MediaRange: Sendable, Equatable {
    /// `*/*`, `text/*` or a type; parameters before `q` included.
    public let type: MediaType
    /// Thousandths, 0 to 1000.
    public let quality: Int

    /// How closely a range names a type; the closest one that matches decides.
    enum Specificity: Int, Comparable {
        case anything, anySubtype, type, typeWithParameters

        static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    }

    var specificity: Specificity {
        if type.type == "*" { return .anything }
        if type.subtype == "*" { return .anySubtype }
        return type.parameters.isEmpty ? .type : .typeWithParameters
    }

    /// Parameters are not compared: what is sent as `application/json;odata=verbose` is JSON here, and the operation
    /// behind it may look at them.
    func matches(_ other: MediaType) -> Bool {
        (type.type == "*" || type.type == other.type) && (type.subtype == "*" || type.subtype == other.subtype)
    }

    /// Reads the value of an `Accept` field. Empty elements and those that break the grammar, as the `*` of Java's
    /// `HttpURLConnection`, are passed over (RFC 9110, section 5.6.1 and 12.5.1).
    public static func list(_ field: String) -> [MediaRange] {
        var scanner = FieldScanner(field)
        var ranges: [MediaRange] = []
        while !scanner.isAtEnd {
            var element = scanner
            if let type = element.takeMediaType(), let range = MediaRange(type), element.isAtEnd || element.takes(",") {
                ranges.append(range)
                scanner = element
            } else {
                scanner.skipElement()
            }
            scanner.skipSpace()
        }
        return ranges
    }

    private init?(_ type: MediaType) {
        guard type.type != "*" || type.subtype == "*" else { return nil }
        let weight = type.parameters.firstIndex { $0.name == "q" }
        guard let quality = weight.map({ Self.thousandths(type.parameters[$0].value) }) ?? 1000 else { return nil }
        // What follows the weight are extensions of `Accept`, which RFC 9110 has given up.
        let own = type.parameters[..<(weight ?? type.parameters.count)]
        guard let bare = MediaType(type: type.type, subtype: type.subtype, parameters: Array(own)) else { return nil }
        self.type = bare
        self.quality = quality
    }

    /// `0`, `1`, or one of them with up to three decimals, not above 1. Java writes no 0 before the point.
    private static func thousandths(_ text: String) -> Int? {
        let digits = Array((text.utf8.first == UInt8(ascii: ".") ? "0" + text : text).utf8)
        guard let whole = digits.first, whole == 0x30 || whole == 0x31, digits.count <= 5,
            digits.count == 1 || digits[1] == UInt8(ascii: "."),
            digits.dropFirst(2).allSatisfy({ $0 &- 0x30 < 10 })
        else { return nil }
        let decimals = digits.dropFirst(2) + [0x30, 0x30, 0x30]
        let value = decimals.prefix(3).reduce(Int(whole - 0x30)) { $0 * 10 + Int($1 - 0x30) }
        return value <= 1000 ? value : nil
    }
}

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

    /// Goes on behind the next comma that is not quoted, or to the end.
    mutating func skipElement() {
        var isQuoted = false
        while position < text.count {
            let byte = text[position]
            position += 1
            switch byte {
            case UInt8(ascii: "\\") where isQuoted: position = min(position + 1, text.count)
            case UInt8(ascii: "\""): isQuoted.toggle()
            case UInt8(ascii: ",") where !isQuoted: return
            default: continue
            }
        }
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
