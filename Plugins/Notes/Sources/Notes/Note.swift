import AdapterKit

/// A note: what it consists of, and who may see and change it.
enum Note {
    static let entityName: EntityName = "notes"

    static let maximumTitleLength = 200
    static let maximumTextLength = 100_000
    static let maximumAttachments = 20

    static let entity = Entity(
        entityName, summary: "A note of one owner, who may share it.", key: EntityKey(Fields.id),
        fields: [
            Field(
                Fields.id, .string(maximumLength: 255), source: .callerOnCreate,
                summary: "Chosen by the caller where it sends one."),
            Field(
                Fields.title, .string(TextLimits(minimumLength: 1, maximumLength: maximumTitleLength)),
                isRequired: true),
            Field(Fields.text, .string(maximumLength: maximumTextLength), defaultValue: ""),
            Field(Fields.owner, .string, source: .creator, summary: "The account that created the note."),
            Field(
                Fields.sharedWith, .list(of: accountName), defaultValue: [], maximumCount: Share.maximumReaders,
                summary: "The accounts that may read it too."),
            Field(Fields.modified, .date, source: .modifiedAt),
            Field(
                Fields.attachments, .list(of: digest), defaultValue: [], maximumCount: maximumAttachments,
                summary: "SHA-256 digests of what was uploaded with it."),
        ],
        indexes: [Index([Fields.owner, Fields.modified])],
        searchFields: [Fields.title, Fields.text], attachments: [Fields.attachments],
        rows: RowRules(
            read: .any([.owner(Fields.owner), .sharedWith(Fields.sharedWith)]), write: .owner(Fields.owner)))

    static let digest = Shape.string(TextLimits(minimumLength: 64, maximumLength: 64))

    static let accountName = Shape.string(TextLimits(minimumLength: 1, maximumLength: 64))

    enum Fields {
        static let id: FieldName = "id"
        static let title: FieldName = "title"
        static let text: FieldName = "text"
        static let owner: FieldName = "owner"
        static let sharedWith: FieldName = "sharedWith"
        static let modified: FieldName = "modified"
        static let attachments: FieldName = "attachments"
    }
}
