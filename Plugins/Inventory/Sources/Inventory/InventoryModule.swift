import AdapterKit

/// What warehouses have, for those who work in them.
public enum InventoryModule: AdapterModule {
    public static let name: AdapterName = "inventory"

    public static func declare(_ configuration: AdapterConfiguration) throws -> AdapterDeclaration {
        AdapterDeclaration(
            name: name, title: "Inventory", summary: "What warehouses have, for those who work in them.",
            version: "1.0.0", entities: [Warehouse.entity, Item.entity], operations: [Move.operation])
    }

    public static func make(_ configuration: AdapterConfiguration) throws -> any Adapter {
        InventoryAdapter()
    }
}

/// Reading and writing the records needs no code. What is left is the operation.
struct InventoryAdapter: Adapter {
    func handle(_ call: Call) async throws -> OperationResult {
        switch call.operation {
        case Move.operation.name: .value(try await Move(call).run(on: call.records))
        default: throw PorticoError(.routeNotFound, "There is no operation \(call.operation).")
        }
    }

    func frontPageEntries() async throws -> [FrontPageEntry] {
        [
            FrontPageEntry(
                title: "Inventory", path: "/api/v1/inventory/items", summary: "The stock of one's own warehouses.")
        ]
    }

    func sampleRecords() throws -> [SampleRecords] {
        [
            SampleRecords(
                Warehouse.entityName,
                [
                    ["id": "north", "name": "North", "staff": ["alice", "bob"]],
                    ["id": "south", "name": "South", "staff": ["alice"]],
                ]),
            SampleRecords(
                Item.entityName,
                [
                    [
                        "id": "n1", "warehouse": "north", "article": "A-1", "name": "Bolt", "quantity": 500,
                        "minimum": 100,
                    ],
                    [
                        "id": "n2", "warehouse": "north", "article": "A-2", "name": "Nut", "quantity": 20,
                        "minimum": 100,
                    ],
                    ["id": "s1", "warehouse": "south", "article": "A-1", "name": "Bolt", "quantity": 40],
                ]),
        ]
    }
}
