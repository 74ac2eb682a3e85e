/// What vocabularies say about an element of the model (CSDL 4.01, section 14): constant expressions as values, the rest
/// by kind only. Terms are named with their namespace, never by alias.
public struct Annotations: Sendable, Equatable {
    public struct Entry: Sendable, Equatable {
        public let term: String
        public let qualifier: String?
        public let value: AnnotationValue

        public init(term: String, qualifier: String? = nil, value: AnnotationValue) {
            self.term = term
            self.qualifier = qualifier
            self.value = value
        }
    }

    public var entries: [Entry]

    public init(_ entries: [Entry] = []) {
        self.entries = entries
    }

    /// The unqualified annotation of a term.
    public subscript(term: String) -> AnnotationValue? {
        entries.first { $0.term == term && $0.qualifier == nil }?.value
    }

    /// Whether a tagging term applies: it is there and not false.
    public func isTagged(_ term: String) -> Bool {
        guard let value = self[term] else { return false }
        return value != .bool(false)
    }
}

public indirect enum AnnotationValue: Sendable, Equatable {
    case bool(Bool)
    case int(Int64)
    /// Floats, decimals, dates and the like, as they are spelt.
    case number(String)
    case string(String)
    case enumMember(String)
    /// Any of the path expressions.
    case path(String)
    case collection([AnnotationValue])
    case record([Member])
    case null
    /// A dynamic expression, by its element's name.
    case expression(String)

    public struct Member: Sendable, Equatable {
        public let name: String
        public let value: AnnotationValue

        public init(_ name: String, _ value: AnnotationValue) {
            self.name = name
            self.value = value
        }
    }

    /// A member of a record; nil for anything else.
    public subscript(member: String) -> AnnotationValue? {
        guard case .record(let members) = self else { return nil }
        return members.first { $0.name == member }?.value
    }

    public var boolValue: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }

    public var stringValue: String? {
        if case .string(let value) = self { value } else { nil }
    }
}
