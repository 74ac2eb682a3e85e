import AdapterKit

/// A record whose truth is in another system.
enum Item {
    static let entity = Entity(
        "items", summary: "An article of the other system.", key: EntityKey(Fields.id, chosenBy: .caller),
        fields: [
            Field(Fields.id, .string(maximumLength: 255), isRequired: true),
            Field(Fields.name, .string(maximumLength: 200), isRequired: true),
            Field(Fields.price, .double, isNullable: true),
        ],
        searchFields: [Fields.name])

    enum Fields {
        static let id: FieldName = "id"
        static let name: FieldName = "name"
        static let price: FieldName = "price"
    }
}
