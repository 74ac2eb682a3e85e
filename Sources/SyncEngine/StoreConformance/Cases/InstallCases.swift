import AdapterKit
import RecordStorage

extension StoreConformance {
    static let installCases = [
        ConformanceCase("installing the same declarations again changes nothing") { store in
            let record = try await store.own.create(everything, in: "items")
            try await store.install(Samples.collections)
            try expectEqual(try await store.own.record(record.id, in: "items"), record, "the record")
            try expectEqual(store.position, record.revision, "the position")
        },
        ConformanceCase("a declaration that contradicts itself is refused, and nothing of it is made") { store in
            let entity = Entity(
                "broken", summary: "", key: EntityKey("id"), fields: [Field("id", .string)],
                indexes: [Index(["missing"])])
            try await expectError(.serverInternal, "an index of nothing") {
                try await store.install([CollectionDeclaration(adapter: "samples", entity: entity)])
            }
        },
    ]
}
