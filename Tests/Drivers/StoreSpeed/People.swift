import AdapterKit
import RecordStorage
import SQLiteStore

/// Employees as the sample data has them.
enum People {
    static let count = 10_000
    static let entity = Entity(
        "employees", summary: "People.", key: EntityKey("id"),
        fields: [
            Field("id", .string(maximumLength: 64), isRequired: true),
            Field("firstName", .string(maximumLength: 100), isRequired: true),
            Field("lastName", .string(maximumLength: 100), isRequired: true),
            Field("division", .string(maximumLength: 100), isRequired: true),
            Field("email", .string(maximumLength: 200)),
            Field("phoneNumber", .string(maximumLength: 40)),
        ],
        indexes: [Index(["division"])], searchFields: ["firstName", "lastName"])

    /// The same without a full-text index, which SQLite alone would not have either.
    static let unsearched = Entity(
        "employees", summary: "People.", key: EntityKey("id"), fields: entity.fields, indexes: entity.indexes)

    static let collection = CollectionID("staff", "employees")

    static func records(_ store: SQLiteStore) -> AdapterRecords {
        let declaration = AdapterDeclaration(
            name: "staff", title: "Staff", summary: "", version: "1", entities: [entity])
        return AdapterRecords(
            store: store, declaration: declaration, principal: Principal(kind: .user, id: "1", name: "ann"))
    }

    static func id(_ number: Int) -> RecordID { RecordID(unchecked: "e\(number)") }

    static func creation(_ number: Int) -> RecordChange {
        let first = names[number % names.count]
        let last = names[(number / names.count) % names.count]
        let fields: WireDictionary = [
            "firstName": .string(first), "lastName": .string("\(last)son"),
            "division": .string("Division \(number % 12)"),
            "email": .string("\(first).\(last)son@example.com"), "phoneNumber": .string("555-\(number)"),
        ]
        return RecordChange("employees", .create(id(number), fields))
    }

    private static let names = [
        "Ada", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gus", "Hana", "Ida", "Jon", "Kim", "Lea", "Max", "Nina", "Otto",
    ]
}
