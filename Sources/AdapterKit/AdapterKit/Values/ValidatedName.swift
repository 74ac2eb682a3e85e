/// A text that is checked once, where it enters, and is valid from then on.
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

/// Names an adapter in paths, configuration and logs: `[a-z][a-z0-9-]*`, at most 40 characters.
public struct AdapterName: ValidatedName {
    public let text: String
    public init(unchecked text: String) { self.text = text }
    public static func isValid(_ text: String) -> Bool {
        text.isIdentifier(maximumLength: 40, lowercase: true, others: "-")
    }
}

/// Names an entity within its adapter: letters, digits, `_` and `-`, at most 64 characters.
public struct EntityName: ValidatedName {
    public let text: String
    public init(unchecked text: String) { self.text = text }
    public static func isValid(_ text: String) -> Bool { text.isIdentifier(maximumLength: 64, others: "_-") }
}

/// Names a field of an entity or a member of an object: letters, digits and `_`, at most 128 characters.
public struct FieldName: ValidatedName {
    public let text: String
    public init(unchecked text: String) { self.text = text }
    public static func isValid(_ text: String) -> Bool { text.isIdentifier(maximumLength: 128, others: "_") }
}

/// Names an operation within its adapter: letters, digits and `-`, at most 64 characters.
public struct OperationName: ValidatedName {
    public let text: String
    public init(unchecked text: String) { self.text = text }
    public static func isValid(_ text: String) -> Bool { text.isIdentifier(maximumLength: 64, others: "-") }
}

/// A role that accounts hold and declarations ask for: letters, digits, `_`, `-` and `.`, at most 64 characters.
public struct RoleName: ValidatedName {
    public let text: String
    public init(unchecked text: String) { self.text = text }
    public static func isValid(_ text: String) -> Bool { text.isIdentifier(maximumLength: 64, others: "_-.") }
}

/// Identifies a record within its entity: 1 to 255 bytes of UTF-8 without control characters, U+FFFE and U+FFFF.
///
/// For an entity whose key is an integer it is the number's decimal text.
public struct RecordID: ValidatedName {
    public let text: String
    public init(unchecked text: String) { self.text = text }
    public static func isValid(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= 255 && !text.utf8.contains { $0 < 0x20 || $0 == 0x7f }
            && text.isRepresentableInEveryFormat
    }
}

/// An entity of an adapter: what the store keeps as one table and sync as one collection.
public struct CollectionID: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The adapter that keeps the records.
    public let adapter: AdapterName
    /// The entity within the adapter.
    public let entity: EntityName

    /// Creates a collection ID with these values.
    public init(_ adapter: AdapterName, _ entity: EntityName) {
        self.adapter = adapter
        self.entity = entity
    }

    public var description: String { "\(adapter)/\(entity)" }

    public static func < (left: Self, right: Self) -> Bool {
        (left.adapter, left.entity) < (right.adapter, right.entity)
    }
}
