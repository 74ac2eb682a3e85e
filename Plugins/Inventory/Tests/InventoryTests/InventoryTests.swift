import AdapterKit
import AdapterTesting
import Inventory
import Testing

@Suite struct InventoryTests {
    private let alice = Principal.user("alice")
    private let bob = Principal.user("bob")

    private func ids(_ entity: EntityName, seenBy caller: Principal, on host: TestHost) async throws -> [String] {
        try await host.records.seen(by: caller).query(Query(), in: entity).records.map(\.id.text)
    }

    private func quantity(_ id: RecordID, on host: TestHost) async throws -> Int64? {
        try await host.records.unrestricted.record(id, in: "items")?["quantity"].int64Value
    }

    private func code(_ body: () async throws -> some Any) async -> ErrorCode? {
        await #expect(throws: PorticoError.self) { _ = try await body() }?.code
    }

    @Test func `The adapter conforms`() async {
        let move = AdapterConformance.Example("move", ["item": "n1", "to": "south", "quantity": 5], as: alice)
        #expect(await AdapterConformance(InventoryModule.self, examples: [move]).problems() == [])
    }

    @Test func `One sees the warehouses in which one works, and what is in them`() async throws {
        let host = try await TestHost(InventoryModule.self, withSamples: true)
        #expect(try await ids("warehouses", seenBy: alice, on: host) == ["north", "south"])
        #expect(try await ids("items", seenBy: bob, on: host) == ["n1", "n2"])
        #expect(try await ids("items", seenBy: .user("carol"), on: host) == [])
        #expect(try await ids("items", seenBy: .anonymous, on: host) == [])
    }

    @Test func `Nobody writes into a warehouse in which they do not work`() async throws {
        let host = try await TestHost(InventoryModule.self, withSamples: true)
        let records = host.records.seen(by: bob)
        let found = await code {
            try await records.create(["warehouse": "south", "article": "B-1", "name": "Washer"], in: "items")
        }
        #expect(found == .accessDenied)
        #expect(await code { try await records.update("s1", ["quantity": 0], in: "items") } == .recordNotFound)
    }

    @Test func `Nobody creates a warehouse for others alone or takes themselves out of one`() async throws {
        let host = try await TestHost(InventoryModule.self, withSamples: true)
        let records = host.records.seen(by: bob)
        let forOthers = await code { try await records.create(["name": "East", "staff": ["alice"]], in: "warehouses") }
        #expect(forOthers == .accessDenied)
        let leaving = await code { try await records.update("north", ["staff": ["alice"]], in: "warehouses") }
        #expect(leaving == .accessDenied)
        try await records.create(["name": "East", "staff": ["bob", "carol"]], id: "east", in: "warehouses")
        #expect(try await ids("warehouses", seenBy: .user("carol"), on: host) == ["east"])
    }

    @Test func `An article is once in each warehouse`() async throws {
        let host = try await TestHost(InventoryModule.self, withSamples: true)
        let again = await code {
            try await host.records.seen(by: alice).create(
                ["warehouse": "south", "article": "A-1", "name": "Bolt"], in: "items")
        }
        #expect(again == .recordExists)
    }

    @Test func `With a warehouse goes what is in it`() async throws {
        let host = try await TestHost(InventoryModule.self, withSamples: true)
        try await host.records.seen(by: alice).delete("north", in: "warehouses")
        #expect(try await ids("items", seenBy: alice, on: host) == ["s1"])
    }

    @Test func `Stock moves to the same article in the other warehouse`() async throws {
        let host = try await TestHost(InventoryModule.self, withSamples: true)
        let moved = try await host.value("move", ["item": "n1", "to": "south", "quantity": 60], as: alice)
        #expect(moved["from"] == ["item": "n1", "warehouse": "north", "quantity": 440])
        #expect(moved["to"] == ["item": "s1", "warehouse": "south", "quantity": 100])
        #expect(try await quantity("n1", on: host) == 440)
    }

    @Test func `Stock of an article that the other warehouse does not have becomes a new item there`() async throws {
        let host = try await TestHost(InventoryModule.self, withSamples: true)
        let moved = try await host.value("move", ["item": "n2", "to": "south", "quantity": 20], as: alice)
        let id = try #require(moved["to"]?["item"].flatMap { RecordID(key: $0) })
        let item = try #require(try await host.records.seen(by: alice).record(id, in: "items"))
        #expect(item["name"] == "Nut" && item["quantity"] == 20 && item["warehouse"] == "south")
        #expect(try await quantity("n2", on: host) == 0)
    }

    @Test(
        arguments: [
            (["item": "n1", "to": "south", "quantity": 501], .requestInvalid),
            (["item": "n1", "to": "north", "quantity": 1], .requestInvalid),
            (["item": "n1", "to": "nowhere", "quantity": 1], .recordNotFound),
            (["item": "none", "to": "south", "quantity": 1], .recordNotFound),
            (["item": "n1", "to": "south", "quantity": 0], .requestInvalid),
            (["item": "", "to": "south", "quantity": 1], .requestInvalid),
        ] as [(WireDictionary, ErrorCode)])
    func `A move that cannot be made changes nothing`(input: WireDictionary, expected: ErrorCode) async throws {
        let host = try await TestHost(InventoryModule.self, withSamples: true)
        let before = host.records.position
        #expect(await code { try await host.call("move", input, as: alice) } == expected)
        #expect(host.records.position == before)
    }

    @Test func `Stock is not moved to a warehouse in which the caller does not work`() async throws {
        let host = try await TestHost(InventoryModule.self, withSamples: true)
        let found = await code { try await host.call("move", ["item": "n1", "to": "south", "quantity": 1], as: bob) }
        #expect(found == .recordNotFound)
    }

    @Test func `Stock that another changes meanwhile is read again, and none is lost`() async throws {
        let host = try await TestHost(InventoryModule.self, withSamples: true)
        let records = FaultInjectingRecordStore(host.records.seen(by: alice)) { write in
            guard write <= 2 else { return }
            let other = host.records.unrestricted
            let there = try await other.record("n1", in: "items")?["quantity"].int64Value ?? 0
            try await other.update("n1", ["quantity": .int64(there - 10)], in: "items")
        }
        _ = try await move(on: records, host)
        #expect(try await quantity("n1", on: host) == 475)
        #expect(try await quantity("s1", on: host) == 45)
    }

    @Test func `Stock that keeps changing ends in a conflict, not in a loop`() async throws {
        let host = try await TestHost(InventoryModule.self, withSamples: true)
        let records = FaultInjectingRecordStore(host.records.seen(by: alice)) { write in
            try await host.records.unrestricted.update("s1", ["minimum": .int64(Int64(write))], in: "items")
        }
        #expect(await code { try await move(on: records, host) } == .recordConflict)
        #expect(try await quantity("n1", on: host) == 500)
    }

    private func move(on records: any RecordStore, _ host: TestHost) async throws -> OperationResult {
        try await host.adapter.handle(
            Call(
                operation: "move", input: ["item": "n1", "to": "south", "quantity": 5], caller: alice,
                requestID: "test", deadline: .now + .seconds(60), records: records, log: .discarding))
    }
}
