import AdapterKit

/// The operations of the users' XML API: lists, one user and the schema in versions 1 and 2, and the import, with their
/// paths and output shapes.
///
/// Every answer depends on the input and the records alone, since every caller sees every row.
enum UserOperations {
    static let all = [listV1, list, user, schema, loading.operation]

    /// Loads users of one's own.
    static let loading = RecordImport(Users.entity)

    /// Version 1 has every field in the list.
    static let listV1 = Operation(
        "list-v1", summary: "Every user with all fields.", effect: .reads, output: .object(fullListShape),
        caching: .untilRecordsChange, bindings: [HTTPBinding(.get, "/v1/list", presentation: document(listRoot))])

    static let list = Operation(
        "list", summary: "Every user, without details.", effect: .reads, output: .object(listShape),
        caching: .untilRecordsChange, bindings: [HTTPBinding(.get, "/v2/list", presentation: document(listRoot))])

    static let user = Operation(
        "user", summary: "One user with all fields.", effect: .reads,
        input: ObjectShape(
            "UserKey", members: [Member(key, .integer, isRequired: true, acceptsText: true, summary: "The number.")]),
        output: .object(userShape), caching: .untilRecordsChange,
        bindings: [
            HTTPBinding(.get, "/v2/{userId}", presentation: document(userRoot)),
            HTTPBinding(.get, "/v2/user/{userId}", presentation: document(userRoot)),
        ])

    static let schema = Operation(
        "schema", summary: "The XML Schema of version 2.", effect: .reads, output: .any,
        documentType: UserSchema.mediaType, caching: .untilRecordsChange, entities: [],
        bindings: [HTTPBinding(.get, "/v2/schema.xsd", presentation: Presentation(defaultFormat: "xml"))])

    /// The path's name for the number.
    static let key: FieldName = "userId"
    static let entry: FieldName = "entry"

    static let namespace = "http://captechventures.com/schema"
    static let listRoot = XMLDocument(root: "UserList", namespace: namespace)
    static let userRoot = XMLDocument(root: "user", namespace: namespace)

    static let userShape = Users.shape("User", Users.all)
    static let listShape = listing("UserList", of: Users.shape("UserEntry", Users.listed))
    static let fullListShape = listing("UserListV1", of: userShape)

    private static func listing(_ name: String, of entries: ObjectShape) -> ObjectShape {
        ObjectShape(name, members: [Member(entry, .list(of: .object(entries)), isRequired: true)])
    }

    private static func document(_ root: XMLDocument) -> Presentation {
        Presentation(defaultFormat: "xml", xml: root)
    }
}

/// The entity: its fields are named as the contract's elements.
enum Users {
    static let userID: FieldName = "UserId"
    static let userName: FieldName = "UserName"
    static let shoeSize: FieldName = "ShoeSize"

    static let all = [userID, userName, shoeSize]
    /// The fields of version 2's list.
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
