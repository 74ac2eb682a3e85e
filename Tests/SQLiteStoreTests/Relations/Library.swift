import AdapterKit
import MemoryStore
import RecordStorage
import SQLiteStore
import Testing

/// Authors and their books, for asking relations. A few of them are in a store in memory too, where whatever is asked is
/// asked as well: both have the same rows.
struct Library {
    let records: AdapterRecords
    let everything: AdapterRecords
    /// The same records in memory, for this reader; nil for more than ``comparedBooks``, or for records that change.
    private let reference: AdapterRecords?
    /// A join in memory compares each row with each.
    private static let comparedBooks = 40
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

    init(
        books: [WireDictionary] = Library.someBooks, for principal: Principal? = nil, isCompared: Bool = true
    ) async throws {
        directory = try TemporaryDirectory()
        store = try directory.store()
        try await store.install(
            Self.declaration.entities.map { CollectionDeclaration(adapter: "library", entity: $0) })
        everything = AdapterRecords(store: store, declaration: Self.declaration)
        records = Self.records(of: store, for: principal)
        let changes =
            Self.someAuthors.map { RecordChange("authors", .create(nil, $0)) }
            + books.map { RecordChange("books", .create(nil, $0)) }
        _ = try await everything.apply(changes)
        guard isCompared, books.count <= Self.comparedBooks else {
            reference = nil
            return
        }
        let memory = MemoryStore(clock: FixedClock())
        try await memory.install(
            Self.declaration.entities.map { CollectionDeclaration(adapter: "library", entity: $0) })
        _ = try await Self.records(of: memory, for: nil).apply(changes)
        reference = Self.records(of: memory, for: principal)
    }

    private static func records(of store: any Store, for principal: Principal?) -> AdapterRecords {
        principal.map { AdapterRecords(store: store, declaration: declaration, principal: $0) }
            ?? AdapterRecords(store: store, declaration: declaration)
    }

    func rows(_ relation: Relation) async throws -> [[WireValue]] {
        let rows = try await records.withReadSnapshot { try $0.rows(relation) }
        guard let reference else { return rows }
        do {
            let expected = try await reference.withReadSnapshot { try $0.rows(relation) }
            let isOrdered = !relation.order.isEmpty
            let texts = [rows, expected].map { $0.map { row in row.map(Self.comparable).joined(separator: "|") } }
            #expect(isOrdered ? texts[0] == texts[1] : texts[0].sorted() == texts[1].sorted(), "\(relation)")
        } catch let error as PorticoError where error.code == .adapterUnavailable {
            // What is not evaluated in memory.
        }
        return rows
    }

    /// Numbers rounded: decimals in memory have 38 digits.
    private static func comparable(_ value: WireValue) -> String {
        let number: Double? =
            if case .decimal(let decimal) = value { Double(decimal.description) } else { value.doubleValue }
        return number.map { "\(($0 * 1e6).rounded())" } ?? "\(value)"
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
