import AdapterKit

/// What a record consists of, and who may see and change it.
enum Item {
    static let entity = Entity(
        "items", summary: "Something to be done.", key: EntityKey(Fields.id),
        fields: [
            Field(Fields.id, .string(maximumLength: 255), source: .callerOnCreate),
            Field(Fields.title, .string(TextLimits(minimumLength: 1, maximumLength: 200)), isRequired: true),
            Field(Fields.isDone, .bool, defaultValue: false),
            Field(Fields.due, .date, isNullable: true),
            Field(Fields.sharedWith, .list(of: .string(maximumLength: 64)), defaultValue: [], maximumCount: 50),
            Field(Fields.owner, .string, source: .creator, summary: "The account that created it."),
            Field(Fields.modified, .date, source: .modifiedAt),
        ],
        indexes: [Index([Fields.owner, Fields.due])], searchFields: [Fields.title],
        rows: RowRules(
            read: .any([.owner(Fields.owner), .sharedWith(Fields.sharedWith)]), write: .owner(Fields.owner)))

    enum Fields {
        static let id: FieldName = "id"
        static let title: FieldName = "title"
        static let isDone: FieldName = "isDone"
        static let due: FieldName = "due"
        static let sharedWith: FieldName = "sharedWith"
        static let owner: FieldName = "owner"
        static let modified: FieldName = "modified"
    }
}
