import AdapterKit

/// The entity: its fields are named as the contract's elements.
enum Users {
    static let userID: FieldName = "UserId"
    static let userName: FieldName = "UserName"
    static let shoeSize: FieldName = "ShoeSize"

    static let all = [userID, userName, shoeSize]
    /// What version 2 tells in its list.
    static let listed = [userID, userName]

    static let entity = Entity(
        "users", summary: "A person and the shoe size.", key: EntityKey(userID, chosenBy: .caller),
        fields: [
            // `int` in the schema, as the contract's clients parse it.
            Field(userID, .integer(IntegerRange(1...Int64(Int32.max))), isRequired: true, summary: "The number."),
            Field(userName, text(maximumLength: 200), isRequired: true, summary: "The name."),
            Field(shoeSize, text(maximumLength: 16), isRequired: true, summary: "Size and width, such as 8.5M."),
        ],
        indexes: [Index([userName])])

    private static func text(maximumLength: Int) -> Shape {
        .string(TextLimits(minimumLength: 1, maximumLength: maximumLength))
    }

    /// An object of some of the entity's fields.
    static func shape(_ name: String, _ fields: [FieldName]) -> ObjectShape {
        ObjectShape(name, members: fields.compactMap { entity.recordShape.member($0.text) })
    }
}
