import AdapterKit

/// A part of the country, and who follows its weather. Only the operations `follow` and `unfollow` change it.
enum Region {
    static let entityName: EntityName = "regions"

    static let maximumFollowers = 10_000

    static let entity = Entity(
        entityName, summary: "A region whose weather the caller follows.", key: EntityKey(Fields.id),
        fields: [
            Field(Fields.id, .string(maximumLength: 64), source: .callerOnCreate, summary: "As the service names it."),
            Field(Fields.followers, .list(of: .string(maximumLength: 64)), maximumCount: maximumFollowers),
        ],
        // The live feed sends a region's events to its followers. So they, and they alone, may read it.
        rows: RowRules(read: .sharedWith(Fields.followers), write: .nobody))

    enum Fields {
        static let id: FieldName = "id"
        static let followers: FieldName = "followers"
    }
}
