/// A kind of record that an adapter keeps or fronts.
///
/// Declaring one gives it a table, the resource `/api/v1/{adapter}/{entity}`, a sync collection, its part of
/// every service description and its listings in the operator's tools.
public struct Entity: Sendable, Equatable {
    public let name: EntityName
    public let summary: String
    public let key: EntityKey
    /// All fields, the key's too, in the order in which they are written.
    public let fields: [Field]
    public let indexes: [Index]
    /// The `string` fields that full-text search covers; none: no search.
    public let searchFields: [FieldName]
    /// The `string` fields, and lists of strings, that hold SHA-256 digests of attachments in lower-case hexadecimal:
    /// whoever may read the record may read those bytes.
    public let attachments: [FieldName]
    /// Fields whose values before each change the log keeps, beyond those that row rules look at: what tells to which
    /// record another belonged.
    public let historyFields: [FieldName]
    /// The records that this one belongs to: it is deleted with any of them, as by SQL's `ON DELETE CASCADE`, in the same
    /// transaction. An entity that is read by ``RowRule/memberOf(_:through:members:)`` alone needs not name that one.
    public let parents: [ParentReference]
    public let rows: RowRules
    /// Who may read at all; nil: whoever the adapter's access lets read.
    public let readers: Access?
    /// Who may write at all; nil: whoever the adapter's access lets write.
    public let writers: Access?
    public let conflictPolicy: ConflictPolicy
    public let exposure: Exposure

    public init(
        _ name: EntityName, summary: String, key: EntityKey, fields: [Field], indexes: [Index] = [],
        searchFields: [FieldName] = [], attachments: [FieldName] = [], historyFields: [FieldName] = [],
        parents: [ParentReference] = [], rows: RowRules = .everyone, readers: Access? = nil, writers: Access? = nil,
        conflictPolicy: ConflictPolicy = .merge, exposure: Exposure = .resource
    ) {
        self.name = name
        self.summary = summary
        self.key = key
        self.fields = fields
        self.indexes = indexes
        self.searchFields = searchFields
        self.attachments = attachments
        self.historyFields = historyFields
        self.parents = parents
        self.rows = rows
        self.readers = readers
        self.writers = writers
        self.conflictPolicy = conflictPolicy
        self.exposure = exposure
    }

    public func field(_ name: FieldName) -> Field? {
        fields.first { $0.name == name }
    }
}

/// A field that holds the id of another record of the same adapter, to which the record belongs.
public struct ParentReference: Sendable, Hashable {
    public let field: FieldName
    public let entity: EntityName

    public init(_ field: FieldName, in entity: EntityName) {
        self.field = field
        self.entity = entity
    }
}

extension Entity {
    /// What the record is deleted with: the declared parents, and the groups without which nobody can read it.
    public var owners: Set<ParentReference> { Set(parents).union(rows.read.requiredGroups) }

    /// Every reference that decides who may read or change the record, and ``owners``.
    public var references: Set<ParentReference> { owners.union(rows.read.anyGroups).union(rows.write.anyGroups) }

    /// Whether the read rule tells one row from another, so that a record may be private to some callers.
    public var hasPrivateRows: Bool { rows.read.looksAtRows }
}

/// The field that identifies a record, and who chooses its value.
public struct EntityKey: Sendable, Equatable {
    public enum Chooser: Sendable, Equatable {
        case caller
        case server
        /// The caller where it sends one, otherwise the server.
        case either
    }

    public let field: FieldName
    public let chooser: Chooser

    public init(_ field: FieldName, chosenBy chooser: Chooser = .either) {
        self.field = field
        self.chooser = chooser
    }
}

/// An index of the entity's table, in the order of its fields.
public struct Index: Sendable, Equatable {
    public let fields: [FieldName]
    public let isUnique: Bool

    public init(_ fields: [FieldName], isUnique: Bool = false) {
        self.fields = fields
        self.isUnique = isUnique
    }
}

/// How two changes of one record that did not know of each other are settled.
public enum ConflictPolicy: Sendable, Equatable {
    case reject
    /// Field by field against the common ancestor; both changed one field: a conflict.
    case merge
    case lastWriterWins
    /// ``Adapter/settle(_:)`` says what becomes of it.
    case adapterDecides
}

/// Which doors an entity has.
public enum Exposure: Sendable, Equatable {
    /// The resource, sync, descriptions and tools.
    case resource
    /// None: the adapter's own operations alone reach it.
    case adapterOnly
}
