import AdapterKit
import RecordStorage
import SQLiteStore

/// Authors and their books, in a store, for asking relations.
struct Library {
    let records: AdapterRecords
    let everything: AdapterRecords
    private let directory: TemporaryDirectory
    let store: SQLiteStore

    static let authors = Entity(
        "authors", summary: "Who writes.", key: EntityKey("id", chosenBy: .caller),
        fields: [
            Field("id", .integer), Field("name", .string), Field("born", .string(maximumLength: 10)),
            Field("home", .any, isNullable: true),
        ])

    static let books = Entity(
        "books", summary: "What is written.", key: EntityKey("id", chosenBy: .caller),
        fields: [
            Field("id", .integer), Field("title", .string, isNullable: true),
            Field("author", .integer, isNullable: true),
            Field("price", .decimal(scale: nil), isNullable: true), Field("weight", .double, isNullable: true),
            Field("stock", .integer, isNullable: true), Field("out", .bool, isNullable: true),
            Field("sold", .date, isNullable: true), Field("tags", .list(of: .string), isNullable: true),
            Field("owner", .string, isNullable: true),
        ],
        indexes: [Index(["author"]), Index(["price"]), Index(["title"])], searchFields: ["title"],
        rows: RowRules(read: .any([.owner("owner"), .hasRole("librarian")]), write: .everyone))

    static let declaration = AdapterDeclaration(
        name: "library", title: "Library", summary: "Books.", version: "1", entities: [authors, books])

    init(books: [WireDictionary] = Library.someBooks, for principal: Principal? = nil) async throws {
        directory = try TemporaryDirectory()
        store = try directory.store()
        try await store.install(
            Self.declaration.entities.map { CollectionDeclaration(adapter: "library", entity: $0) })
        let all = AdapterRecords(store: store, declaration: Self.declaration)
        everything = all
        if let principal {
            records = AdapterRecords(store: store, declaration: Self.declaration, principal: principal)
        } else {
            records = all
        }
        let changes =
            Self.someAuthors.map { RecordChange("authors", .create(nil, $0)) }
            + books.map { RecordChange("books", .create(nil, $0)) }
        _ = try await everything.apply(changes)
    }

    func rows(_ relation: Relation) async throws -> [[WireValue]] {
        try await records.withReadSnapshot { try $0.rows(relation) }
    }

    /// The ids of the books for which it is true, in order.
    func books(where condition: RowExpression) async throws -> [Int64] {
        let relation = Relation(
            .records("books", as: 1), where: condition, columns: [.field(1, "id")], order: [RowOrder(.field(1, "id"))])
        return try await rows(relation).compactMap { $0[0].int64Value }
    }

    /// What an expression without rows is.
    func value(_ expression: RowExpression) async throws -> WireValue {
        try await rows(Relation(.one, columns: [expression]))[0][0]
    }

    static let someAuthors: [WireDictionary] = [
        ["id": 1, "name": "Ada", "born": "1815-12-10", "home": ["city": "London", "zip": [1, 2]]],
        ["id": 2, "name": "Émile", "born": "1840-04-02", "home": ["city": "Paris"]],
        ["id": 3, "name": "Nobody", "born": "2000-02-29", "home": .null],
    ]

    static let someBooks: [WireDictionary] = [
        [
            "id": 1, "title": "Notes", "author": 1, "price": .decimal(WireDecimal("0.1")!), "weight": 1.5, "stock": 3,
            "out": true, "tags": ["old", "maths"], "owner": "ada",
        ],
        [
            "id": 2, "title": "Germinal", "author": 2, "price": .decimal(WireDecimal("0.20")!), "weight": 2.5,
            "stock": 0, "out": false, "tags": ["old"], "owner": "emile",
        ],
        [
            "id": 3, "title": "La Bête humaine", "author": 2, "price": .decimal(WireDecimal("12345678901234567890.5")!),
            "weight": .null, "stock": -3, "out": .null, "tags": [], "owner": "emile",
        ],
        [
            "id": 4, "title": .null, "author": .null, "price": .null, "weight": 0, "stock": .null, "out": true,
            "tags": .null,
            "owner": .null,
        ],
    ]
}
