import AdapterKit

/// What a record consists of, and who may see and change it.
///
/// This declaration gives the table, the resource `/api/v1/acme/items`, the collection on devices, the validation and
/// the descriptions. Add fields here.
enum Item {
    static let entity = Entity(
        "items", summary: "Something to be done.", key: EntityKey(Fields.id),
        fields: [
            Field(Fields.id, .string(maximumLength: 255), source: .callerOnCreate),
            Field(Fields.title, .string(TextLimits(minimumLength: 1, maximumLength: 200)), isRequired: true),
            Field(Fields.isDone, .bool, defaultValue: false),
            Field(Fields.owner, .string, source: .creator, summary: "The account that created it."),
            Field(Fields.modified, .date, source: .modifiedAt),
        ],
        indexes: [Index([Fields.owner, Fields.modified])], searchFields: [Fields.title],
        // In every query, of every interface: one sees and changes what one has created.
        rows: RowRules(read: .owner(Fields.owner), write: .owner(Fields.owner)))

    enum Fields {
        static let id: FieldName = "id"
        static let title: FieldName = "title"
        static let isDone: FieldName = "isDone"
        static let owner: FieldName = "owner"
        static let modified: FieldName = "modified"
    }
}
