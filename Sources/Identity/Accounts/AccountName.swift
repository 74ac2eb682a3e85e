import AdapterKit

/// What a person types to sign in, and what records name their owners by.
///
/// 1 to 64 of ASCII letters, digits and `. _ - @ +`, the first a letter or a digit. It is shown as it was given; two
/// names that differ only in case are one (``folded``). ASCII only, so that no two names look alike, folding depends on
/// no locale, and HTTP Basic can carry every name (RFC 7617 forbids the colon). docs/decisions/0050.
public struct AccountName: ValidatedName {
    public static let maximumLength = 64

    public let text: String
    public init(unchecked text: String) { self.text = text }

    public static func isValid(_ text: String) -> Bool {
        guard let first = text.utf8.first, text.utf8.count <= maximumLength else { return false }
        return isAlphanumeric(first) && text.utf8.allSatisfy { isAlphanumeric($0) || "._-@+".utf8.contains($0) }
    }

    /// The name in lower case: what is unique among accounts.
    public var folded: String { Self.fold(text) }

    static func fold(_ text: String) -> String {
        String(decoding: text.utf8.map { $0 >= 65 && $0 <= 90 ? $0 + 32 : $0 }, as: UTF8.self)
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        (byte >= 48 && byte <= 57) || (byte >= 65 && byte <= 90) || (byte >= 97 && byte <= 122)
    }
}
