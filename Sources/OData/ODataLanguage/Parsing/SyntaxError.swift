/// Why a text is not what it should be, and where.
public struct SyntaxError: Error, Sendable, Hashable {
    /// UTF-8 bytes from the start of the raw text to the first that does not fit; its length where more was expected.
    public let position: Int
    /// What would have fitted there, in words for people.
    public let expected: String
    public let kind: Kind

    public init(position: Int, expected: String, kind: Kind = .syntax) {
        self.position = position
        self.expected = expected
        self.kind = kind
    }

    public enum Kind: Sendable, Hashable {
        case syntax
        /// It may be right, but is more than ``LanguageLimits`` allow.
        case limit
    }
}
