/// One field of an entity: a typed column of its table, a member of its object in every format.
public struct Field: Sendable, Equatable {
    public let name: FieldName
    public let shape: Shape
    public let isRequired: Bool
    public let isNullable: Bool
    public let defaultValue: WireValue?
    public let source: FieldSource
    /// How many values a list has at most, whichever interface it is written through; nil: the body's limit.
    public let maximumCount: Int?
    public let summary: String

    public init(
        _ name: FieldName, _ shape: Shape, isRequired: Bool = false, isNullable: Bool = false,
        defaultValue: WireValue? = nil, source: FieldSource = .caller, maximumCount: Int? = nil,
        summary: String = ""
    ) {
        self.name = name
        self.shape = shape
        self.isRequired = isRequired
        self.isNullable = isNullable
        self.defaultValue = defaultValue
        self.source = source
        self.maximumCount = maximumCount
        self.summary = summary
    }
}

/// Who gives a field its value. What the server gives is ignored in what a caller sends, so that a record can be sent
/// back as it was read.
public enum FieldSource: Sendable, Equatable {
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
