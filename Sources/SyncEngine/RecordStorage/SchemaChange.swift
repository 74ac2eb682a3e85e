import AdapterKit

/// The effect of other declarations on the tables of a store.
///
/// Whether the values of a new unique index are unique is not in it: that is found out when the index is made.
public struct SchemaChange: Sendable, Equatable {
    /// An effect on a collection or on a field.
    public enum Effect: Sendable, Equatable {
        /// The collection is new.
        case collectionAdded
        /// The collection is declared no longer. Its tables are kept, and nothing reads or writes them.
        case collectionKept(records: Int)
        /// The field is new; so many records get its default.
        case fieldAdded(defaulted: Int)
        /// The field is declared no longer. Its column is kept, and nothing reads or writes it; so many records have a value.
        case fieldHidden(records: Int)
        /// The field was hidden; so many records have a value, and so many others get its default.
        case fieldShown(records: Int, defaulted: Int)
        /// The field is stored in another way. Refused where records have a value.
        case kindChanged(from: String, to: String, records: Int)
        /// The field is required, and so many records have no value. Refused.
        case lacking(records: Int)
        /// The records are identified by another field, or by one of another kind. Refused.
        case keyChanged
        /// The collection's name differs from another one's in case only. Refused.
        case nameTaken(by: String)
    }

    /// One effect, and what it concerns.
    public struct Item: Sendable, Equatable {
        /// The adapter's name and the entity's.
        public let collection: CollectionID
        /// Nil: it concerns the collection.
        public let field: String?
        /// The effect on it.
        public let effect: Effect

        /// One effect on a collection, or on a field of it.
        public init(collection: CollectionID, field: String?, effect: Effect) {
            (self.collection, self.field, self.effect) = (collection, field, effect)
        }
    }

    /// By collection, then by field.
    public let items: [Item]

    /// A change with these effects.
    public init(_ items: [Item]) {
        self.items = items
    }

    /// Changes that the store refuses.
    public var refusals: [Item] { items.filter(\.effect.isRefused) }

    /// Values that no caller sees any more although records have them.
    public var losses: [Item] { items.filter(\.effect.hidesValues) }
}

extension SchemaChange.Effect {
    /// Whether the store refuses all of the change because of it.
    public var isRefused: Bool {
        switch self {
        case .kindChanged(_, _, let records): records > 0
        case .lacking, .keyChanged, .nameTaken: true
        case .collectionAdded, .collectionKept, .fieldAdded, .fieldHidden, .fieldShown: false
        }
    }

    fileprivate var hidesValues: Bool {
        switch self {
        case .collectionKept(let records), .fieldHidden(let records): records > 0
        default: false
        }
    }

    /// As the end of a sentence.
    fileprivate var text: String {
        switch self {
        case .collectionAdded: "is added"
        case .collectionKept(let records): "is not declared any more; its tables stay, with \(Self.records(records))"
        case .fieldAdded(let defaulted):
            defaulted == 0 ? "is added" : "is added; \(Self.getDefault(defaulted))"
        case .fieldHidden(let records):
            "is hidden; \(Self.records(records)) \(records == 1 ? "keeps its value" : "keep their values")"
        case .fieldShown(let records, let defaulted):
            "is shown again; \(Self.records(records)) \(records == 1 ? "has" : "have") a value"
                + (defaulted == 0 ? "" : ", \(Self.getDefault(defaulted))")
        case .kindChanged(let old, let new, 0): "becomes \(new) instead of \(old); no record has a value"
        case .kindChanged(let old, let new, let records):
            "\(Self.records(records)) \(records == 1 ? "holds" : "hold") values of the kind \(old), the declaration says \(new)"
        case .lacking(let records):
            "it is required, and \(Self.records(records)) \(records == 1 ? "has" : "have") no value"
        case .keyChanged: "the key cannot become another one"
        case .nameTaken(let other): "its name differs from \(other)'s in case only"
        }
    }

    private static func getDefault(_ count: Int) -> String {
        "\(records(count)) \(count == 1 ? "gets" : "get") its default"
    }

    private static func records(_ count: Int) -> String { count == 1 ? "1 record" : "\(count) records" }
}

extension SchemaChange.Item: CustomStringConvertible {
    public var description: String {
        let subject = field.map { "\(collection), field `\($0)`" } ?? "\(collection)"
        return effect.isRefused ? "\(subject): refused: \(effect.text)" : "\(subject): \(effect.text)"
    }
}
