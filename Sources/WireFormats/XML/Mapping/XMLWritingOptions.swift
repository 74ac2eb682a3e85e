/// How generic XML is written.
public struct XMLWritingOptions: Sendable, Equatable {
    /// Text that XML cannot carry, such as one with U+0000.
    public enum UnrepresentableText: Sendable, Equatable {
        case error
        /// Its UTF-8 is written as data, and reads back as data. Keys stay an error.
        case data
    }

    public var rootName: XMLElementName
    public var unrepresentableText: UnrepresentableText
    /// Canonical XML 1.1, comments left out: no XML declaration, no empty-element tags, no indentation.
    public var isCanonical: Bool

    public init(
        rootName: XMLElementName = .value, unrepresentableText: UnrepresentableText = .error, isCanonical: Bool = false
    ) {
        self.rootName = rootName
        self.unrepresentableText = unrepresentableText
        self.isCanonical = isCanonical
    }
}

/// A name that an element can have: an `NCName`.
public struct XMLElementName: Sendable, Hashable {
    public let text: String

    public init?(_ text: String) {
        guard XMLCharacters.isNCName(Array(text.utf8).span) else { return nil }
        self.text = text
    }

    private init(known text: StaticString) {
        self.text = "\(text)"
    }

    public static let value = XMLElementName(known: "value")
    public static let item = XMLElementName(known: "item")
}
