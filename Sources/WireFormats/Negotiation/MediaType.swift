/// A media type (RFC 9110, section 8.3.1), type, subtype and parameter names in lower case.
public struct MediaType: Sendable, Hashable {
    public let type: String
    public let subtype: String
    public let parameters: [Parameter]

    public struct Parameter: Sendable, Hashable {
        public let name: String
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
    public static let json = MediaType(known: "application/json")
    public static let cbor = MediaType(known: "application/cbor")
    public static let plist = MediaType(known: "application/x-plist")
    public static let applePlist = MediaType(known: "application/x-apple-plist")
    public static let plainPlist = MediaType(known: "application/plist")
    public static let applePlistXML = MediaType(known: "text/x-apple-plist+xml")
    public static let binaryPlist = MediaType(known: "application/x-apple-binary-plist")
    public static let xml = MediaType(known: "application/xml")
    public static let textXML = MediaType(known: "text/xml")

    /// Type and subtype without parameters.
    public var essence: String { "\(type)/\(subtype)" }

    public func hasSameEssence(as other: MediaType) -> Bool {
        type == other.type && subtype == other.subtype
    }

    /// What follows the last `+` of the subtype, `json` in `application/problem+json`.
    public var structuredSuffix: String? {
        guard let plus = subtype.lastIndex(of: "+") else { return nil }
        return String(subtype[subtype.index(after: plus)...])
    }

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
