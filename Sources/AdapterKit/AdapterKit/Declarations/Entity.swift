/// A kind of record that an adapter keeps or fronts.
///
/// Declaring one gives it a table, the resource `/api/v1/{adapter}/{entity}`, a sync collection, its part of
/// every service description and its listings in the operator's tools.
public struct Entity: Sendable, Equatable {
    /// The entity's name within its adapter.
    public let name: EntityName
    /// One sentence that says what a record is.
    public let summary: String
    /// The field that identifies a record.
    public let key: EntityKey
    /// All fields, the key's too, in the order in which they are written.
    public let fields: [Field]
    /// The indexes of the entity's table.
    public let indexes: [Index]
    /// The `string` fields that full-text search covers; none: no search.
    public let searchFields: [FieldName]
    /// The `string` fields, and lists of strings, that hold SHA-256 digests of attachments in lower-case hexadecimal:
    /// a caller that may read the record may read those bytes.
    public let attachments: [FieldName]
    /// Fields whose values before each change the log keeps, beyond those that row rules look at: the references to
    /// the records that this one belonged to.
    public let historyFields: [FieldName]
    /// The records that this one belongs to: it is deleted with any of them, as by SQL's `ON DELETE CASCADE`, in the same
    /// transaction. An entity that is read by ``RowRule/memberOf(_:through:members:)`` alone needs not name that one.
    public let parents: [ParentReference]
    /// Which rows a principal may read and write.
    public let rows: RowRules
    /// The callers that may read at all; nil: those whom the adapter's access lets read.
    public let readers: Access?
    /// The callers that may write at all; nil: those whom the adapter's access lets write, and where that does not say, every caller with a
    /// login if the write rule binds rows to callers (``RowRule/bindsRowsToCallers``), otherwise no caller.
    public let writers: Access?
    /// The way in which conflicting changes of devices are settled.
    public let conflictPolicy: ConflictPolicy
    /// Whether the entity is served over HTTP and sync.
    public let exposure: Exposure

    /// Creates an entity with these values.
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

    /// The same entity for these callers.
    func with(readers: Access?, writers: Access?) -> Entity {
        Entity(
            name, summary: summary, key: key, fields: fields, indexes: indexes, searchFields: searchFields,
            attachments: attachments, historyFields: historyFields, parents: parents, rows: rows, readers: readers,
            writers: writers, conflictPolicy: conflictPolicy, exposure: exposure)
    }

    /// The field of that name; nil where none is declared.
    public func field(_ name: FieldName) -> Field? {
        fields.first { $0.name == name }
    }
}

/// A field that holds the id of another record of the same adapter, to which the record belongs.
public struct ParentReference: Sendable, Hashable {
    /// The field that holds the id.
    public let field: FieldName
    /// The entity of the record that the id names.
    public let entity: EntityName

    /// Creates a parent reference with these values.
    public init(_ field: FieldName, in entity: EntityName) {
        self.field = field
        self.entity = entity
    }
}

extension Entity {
    /// The records that the record is deleted with: the declared parents, and the groups without which no caller can read it.
    public var owners: Set<ParentReference> { Set(parents).union(rows.read.requiredGroups) }

    /// Every reference that decides who may read or change the record, and ``owners``.
    public var references: Set<ParentReference> { owners.union(rows.read.anyGroups).union(rows.write.anyGroups) }

    /// Whether the read rule depends on the row, so that a record may be private to some callers.
    public var hasPrivateRows: Bool { rows.read.looksAtRows }
}

/// The field that identifies a record, and who chooses its value.
public struct EntityKey: Sendable, Equatable {
    /// The side that chooses the id of a new record.
    public enum Chooser: Sendable, Equatable {
        /// The caller; a creation without an id is refused.
        case caller
        /// The server; an id that a caller sends is ignored.
        case server
        /// The caller where it sends one, otherwise the server.
        case either
    }

    /// The field that holds the id: a text or an integer.
    public let field: FieldName
    /// The side that chooses the id of a new record.
    public let chooser: Chooser

    /// Creates an entity key with these values.
    public init(_ field: FieldName, chosenBy chooser: Chooser = .either) {
        self.field = field
        self.chooser = chooser
    }
}

/// An index of the entity's table, in the order of its fields.
public struct Index: Sendable, Equatable {
    /// The indexed fields; each holds a single value.
    public let fields: [FieldName]
    /// Whether two records may not have equal values. Records with a null among them are not compared.
    public let isUnique: Bool

    /// Creates an index with these values.
    public init(_ fields: [FieldName], isUnique: Bool = false) {
        self.fields = fields
        self.isUnique = isUnique
    }
}

/// The way in which two changes of one record that did not know of each other are settled.
public enum ConflictPolicy: Sendable, Equatable {
    /// The later change is refused with a conflict.
    case reject
    /// Field by field against the common ancestor; both changed one field: a conflict.
    case merge
    /// The later change overwrites the earlier one.
    case lastWriterWins
    /// ``Adapter/settle(_:)`` says what becomes of it.
    case adapterDecides
}

/// Through which interfaces an entity is served.
public enum Exposure: Sendable, Equatable {
    /// The resource, sync, descriptions and tools.
    case resource
    /// None: the adapter's own operations alone reach it.
    case adapterOnly
}

/// One field of an entity: a typed column of its table, a member of its object in every format.
public struct Field: Sendable, Equatable {
    /// The field's name within its entity.
    public let name: FieldName
    /// The values that the field takes.
    public let shape: Shape
    /// Whether a creation must give a value.
    public let isRequired: Bool
    /// Whether null may stand for the value.
    public let isNullable: Bool
    /// Used where a creation gives no value; nil: null.
    public let defaultValue: WireValue?
    /// The side that gives the field its value.
    public let source: FieldSource
    /// Values that a list has at most, whichever interface it is written through; nil: the body's limit.
    public let maximumCount: Int?
    /// Whether callers may choose records by the field.
    public let isFilterable: Bool
    /// Whether callers may order records by the field.
    public let isSortable: Bool
    /// One sentence for descriptions.
    public let summary: String

    /// Creates a field with these values.
    public init(
        _ name: FieldName, _ shape: Shape, isRequired: Bool = false, isNullable: Bool = false,
        defaultValue: WireValue? = nil, source: FieldSource = .caller, maximumCount: Int? = nil,
        isFilterable: Bool = true, isSortable: Bool = true, summary: String = ""
    ) {
        self.name = name
        self.shape = shape
        self.isRequired = isRequired
        self.isNullable = isNullable
        self.defaultValue = defaultValue
        self.source = source
        self.maximumCount = maximumCount
        self.isFilterable = isFilterable
        self.isSortable = isSortable
        self.summary = summary
    }
}

/// The side that gives a field its value. What the server gives is ignored in what a caller sends, so that a record can be sent
/// back as it was read.
public enum FieldSource: Sendable, Equatable {
    /// The caller, at any time.
    case caller
    /// The caller, when the record is created; a different value later is refused.
    case callerOnCreate
    /// The name of the principal that created the record (a `string` field).
    case creator
    /// The time of creation (a `date` field).
    case createdAt
    /// The operation id of the creation (an `integer` field): a total order of the records by when they came to be, the
    /// same for every reader, without a counter that writers would queue for.
    case createdPosition
    /// The time of the last change (a `date` field).
    case modifiedAt
    /// The adapter's ``RecordRules``.
    case rules
}

extension Entity {
    /// A record as an object: the fields as members, in declared order.
    public var recordShape: ObjectShape {
        ObjectShape(
            name.text,
            members: fields.map { field in
                Member(
                    field.name, field.shape, isRequired: field.isRequired, isNullable: field.isNullable,
                    defaultValue: field.defaultValue, summary: field.summary)
            })
    }
}
