import AdapterKit

/// How many of one article a warehouse has.
enum Item {
    static let entityName: EntityName = "items"

    /// Small enough that the sum of two is an integer, whatever they are.
    static let maximumQuantity: Int64 = 1_000_000_000

    static let entity = Entity(
        entityName, summary: "The stock of one article in one warehouse.", key: EntityKey(Fields.id),
        fields: [
            Field(
                Fields.id, .string(maximumLength: 255), source: .callerOnCreate,
                summary: "Chosen by the caller or here."),
            Field(
                Fields.warehouse, .string(maximumLength: 64), isRequired: true, source: .callerOnCreate,
                summary: "Where it is. Stock is moved by the operation `move`."),
            Field(
                Fields.article, .string(TextLimits(minimumLength: 1, maximumLength: 64)), isRequired: true,
                source: .callerOnCreate, summary: "The article's number; once in each warehouse."),
            Field(Fields.name, .string(TextLimits(minimumLength: 1, maximumLength: 200)), isRequired: true),
            Field(Fields.quantity, .integer(IntegerRange(0...maximumQuantity)), defaultValue: 0),
            Field(
                Fields.minimum, .integer(IntegerRange(0...maximumQuantity)), defaultValue: 0,
                summary: "Below it the article is to be ordered."),
            Field(Fields.modified, .date, source: .modifiedAt),
        ],
        indexes: [Index([Fields.warehouse, Fields.article], isUnique: true)], searchFields: [Fields.name],
        // With its warehouse goes what is in it.
        parents: [ParentReference(Fields.warehouse, in: Warehouse.entityName)],
        rows: RowRules(read: staff, write: staff))

    /// Who works in the item's warehouse. The host looks it up there, in every query and for every device.
    private static let staff = RowRule.memberOf(
        Warehouse.entityName, through: Fields.warehouse, members: Warehouse.Fields.staff)

    enum Fields {
        static let id: FieldName = "id"
        static let warehouse: FieldName = "warehouse"
        static let article: FieldName = "article"
        static let name: FieldName = "name"
        static let quantity: FieldName = "quantity"
        static let minimum: FieldName = "minimum"
        static let modified: FieldName = "modified"
    }
}
