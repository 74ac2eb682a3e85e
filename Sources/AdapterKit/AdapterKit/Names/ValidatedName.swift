/// A text that was checked once, at the door, and cannot be wrong afterwards.
///
/// The failable initialiser is for text from outside; a literal that breaks the rule is a programmer's error and traps.
public protocol ValidatedName: Sendable, Hashable, Comparable, CustomStringConvertible, ExpressibleByStringLiteral {
    var text: String { get }
    init(unchecked text: String)
    static func isValid(_ text: String) -> Bool
}

extension ValidatedName {
    public init?(_ text: String) {
        guard Self.isValid(text) else { return nil }
        self.init(unchecked: text)
    }

    public init(stringLiteral value: String) {
        // Cannot trap: literals in source code.
        precondition(Self.isValid(value), "not a valid \(Self.self): \(value)")
        self.init(unchecked: value)
    }

    public var description: String { text }

    public static func < (left: Self, right: Self) -> Bool { left.text < right.text }
}

extension String {
    /// A first letter, then letters, digits and what `others` adds; ASCII only.
    func isIdentifier(maximumLength: Int, lowercase: Bool = false, others: String = "") -> Bool {
        guard let first = utf8.first, utf8.count <= maximumLength else { return false }
        func isLetter(_ byte: UInt8) -> Bool { (byte >= 97 && byte <= 122) || (!lowercase && byte >= 65 && byte <= 90) }
        return isLetter(first)
            && utf8.dropFirst().allSatisfy { isLetter($0) || ($0 >= 48 && $0 <= 57) || others.utf8.contains($0) }
    }
}
