import AdapterKit

/// An adapter that keeps every rule, in every part that can be broken.
enum Shop: AdapterModule {
    static let name: AdapterName = "shop"

    static let goods = Entity(
        "goods", summary: "What is for sale.", key: EntityKey("id"),
        fields: [
            Field("id", .string(maximumLength: 40), isRequired: true),
            Field("title", .string(maximumLength: 80), isRequired: true),
            Field("price", .integer(IntegerRange(0...1_000)), defaultValue: 10),
            Field("code", .string, isNullable: true, source: .callerOnCreate),
            Field("tags", .list(of: .string), isNullable: true),
            Field("shelf", .string, isNullable: true),
            Field("author", .string, source: .creator),
            Field("added", .date, source: .createdAt),
            Field("changed", .date, source: .modifiedAt),
        ], indexes: [Index(["price"]), Index(["code"], isUnique: true)], searchFields: ["title"],
        rows: RowRules(read: .any([.owner("author"), .sharedWith("tags")]), write: .owner("author")),
        conflictPolicy: .adapterDecides)

    static let shelves = Entity(
        "shelves", summary: "Where it stands.", key: EntityKey("number", chosenBy: .either),
        fields: [Field("number", .integer, isRequired: true), Field("room", .string, isRequired: true)],
        writers: .roles(["keeper"]))

    static let price = Operation(
        "price", summary: "What something costs.", effect: .reads,
        input: ObjectShape("PriceOf", members: [Member("id", .string, isRequired: true)]),
        output: .object(ObjectShape("Price", members: [Member("price", .integer, isRequired: true)])),
        bindings: [HTTPBinding(.get, "/prices/{id}")])

    static func declare(_ configuration: AdapterConfiguration) -> AdapterDeclaration {
        AdapterDeclaration(
            name: name, title: "Shop", summary: "Sells.", version: "1", entities: [goods, shelves],
            operations: [price])
    }

    static func make(_ configuration: AdapterConfiguration) -> any Adapter { ShopAdapter() }
}

struct ShopAdapter: Adapter {
    func handle(_ call: Call) async throws -> OperationResult {
        guard call.operation == "price" else { throw PorticoError(.routeNotFound, "There is no such operation.") }
        guard let id = RecordID(call["id"].stringValue ?? ""),
            let record = try await call.records.record(id, in: Shop.goods.name)
        else { throw PorticoError(.recordNotFound, "There is no such thing.") }
        return .value(["price": record["price"]])
    }

    /// Whoever changes the title may; everything else waits for people.
    func resolve(_ conflict: RecordConflict) async throws -> ConflictResolution {
        guard case .update(let fields) = conflict.change, let title = fields["title"] else { return .keep }
        return .change(["title": title])
    }

    func sampleRecords() -> [SampleRecords] {
        [SampleRecords("goods", [["id": "tea", "title": "Tea", "tags": ["someone"]]])]
    }

    func frontPageEntries() -> [FrontPageEntry] {
        [FrontPageEntry(title: "Tea", path: "/prices/tea", summary: "What tea costs.")]
    }
}
