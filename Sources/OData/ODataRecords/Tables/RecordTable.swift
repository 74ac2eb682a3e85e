import AdapterKit
import ODataModel

/// How the entities of one set (or the one of a singleton) are kept: one record each, one field for each structural
/// property of the set's type and of every type that derives from it. A class, because plans and rows' shapes refer to it.
public final class RecordTable: Sendable {
    /// The set's or singleton's name.
    public let source: String
    public let isSingleton: Bool
    public let entity: EntityName
    /// The set's declared type.
    public let type: StructuredType
    /// The declared type and those derived from it, the declared one first.
    public let family: [QualifiedName]
    /// The record's key field.
    public let keyField: FieldName
    public let key: RecordKey
    public let hasIntegerKey: Bool
    /// Holds the entity's qualified type name; nil where nothing derives from the set's type.
    public let discriminator: FieldName?
    /// By property name. `Edm.Stream` properties have none.
    public let columns: [String: RecordColumn]
    /// By navigation property name, those of derived types too. One whose target is in no set is not there.
    public let relations: [String: RecordRelation]
    /// Stream properties, and `$value` for a media entity: each has a hidden field that names an attachment.
    public let streams: [String: StreamFields]
    /// Holds the properties that an open type's entity has beyond the declared ones, as a dictionary in JSON's terms.
    public let dynamicField: FieldName?

    init(
        source: String, isSingleton: Bool, entity: EntityName, type: StructuredType, family: [QualifiedName],
        keyField: FieldName, key: RecordKey, hasIntegerKey: Bool, discriminator: FieldName?,
        columns: [String: RecordColumn], relations: [String: RecordRelation], streams: [String: StreamFields],
        dynamicField: FieldName?
    ) {
        self.source = source
        self.isSingleton = isSingleton
        self.entity = entity
        self.type = type
        self.family = family
        self.keyField = keyField
        self.key = key
        self.hasIntegerKey = hasIntegerKey
        self.discriminator = discriminator
        self.columns = columns
        self.relations = relations
        self.streams = streams
        self.dynamicField = dynamicField
    }

    /// The key field's value in the record with this id; null where it can be none's.
    public func keyValue(of id: RecordID) -> WireValue {
        guard hasIntegerKey else { return .string(id.text) }
        return Int64(id.text).map { .int64($0) } ?? .null
    }

    public func column(_ property: some StringProtocol) -> RecordColumn? { columns[String(property)] }
}

/// The fields of one stream: its bytes and their media type.
public struct StreamFields: Sendable, Hashable {
    public let content: FieldName
    public let mediaType: FieldName
}

/// Which record an entity's key names.
public enum RecordKey: Sendable, Hashable {
    /// The key property's value is the record's key: a text (strings, and GUIDs in lower case) or an integer.
    case property(String)
    /// The key field holds the parts' canonical texts, joined by commas; a comma, a percent sign or a control character
    /// within one is percent-encoded.
    case joined([String])
    /// A singleton's record has this key, its key properties are ordinary fields.
    case fixed(String)
}

/// Where a property's value is.
public struct RecordColumn: Sendable, Hashable {
    public let property: String
    public let field: FieldName
    public let type: TypeReference
}

/// How a navigation property is followed.
public enum RecordRelation: Sendable, Hashable {
    /// The related records' `far` fields equal this record's `near` fields, pair by pair.
    case fields(target: String, pairs: [Pair], isCollection: Bool)
    /// Records of `through` tell which belong together: `near` holds this record's key field's value, `far` the other's.
    case links(target: String, through: EntityName, near: FieldName, far: FieldName, isCollection: Bool)

    public struct Pair: Sendable, Hashable {
        public let near: FieldName
        public let far: FieldName

        public init(near: FieldName, far: FieldName) {
            self.near = near
            self.far = far
        }
    }

    public var target: String {
        switch self {
        case .fields(let target, _, _), .links(let target, _, _, _, _): target
        }
    }

    public var isCollection: Bool {
        switch self {
        case .fields(_, _, let isCollection), .links(_, _, _, _, let isCollection): isCollection
        }
    }
}
