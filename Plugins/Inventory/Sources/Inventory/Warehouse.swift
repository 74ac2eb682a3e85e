import AdapterKit

/// A place where things are kept, and who works there.
enum Warehouse {
    static let entityName: EntityName = "warehouses"

    static let maximumStaff = 200

    static let entity = Entity(
        entityName, summary: "A place where things are kept.", key: EntityKey(Fields.id),
        fields: [
            Field(Fields.id, .string(maximumLength: 64), source: .callerOnCreate, summary: "Such as `north`."),
            Field(Fields.name, .string(TextLimits(minimumLength: 1, maximumLength: 200)), isRequired: true),
            Field(
                Fields.staff, .list(of: accountName), isRequired: true, maximumCount: maximumStaff,
                summary: "The accounts that see the warehouse and change its stock."),
            Field(Fields.modified, .date, source: .modifiedAt),
        ],
        searchFields: [Fields.name],
        // The rule for writing holds before and after a change. So no caller creates a warehouse for others alone, and
        // no caller leaves the staff by their own change: another member takes them out.
        rows: RowRules(read: .sharedWith(Fields.staff), write: .sharedWith(Fields.staff)))

    static let accountName = Shape.string(TextLimits(minimumLength: 1, maximumLength: 64))

    enum Fields {
        static let id: FieldName = "id"
        static let name: FieldName = "name"
        static let staff: FieldName = "staff"
        static let modified: FieldName = "modified"
    }
}
