import AdapterKit
import Foundation
import ODataEngine
import ODataFuzzing
import ODataLanguage
import ODataModel
import RecordStorage
import SQLiteStore
import Testing

/// What generated requests make of a store: statements that read, with every literal bound, and answers or refusals.
@Suite struct GeneratedRequestTests {
    private static let requests = 1_500

    @Test func `a request's literals are in no statement, and no generated request fails`() async throws {
        let directory = try Directory()
        let tables = try ServiceTables(service: "fuzzed", model: EntityDataModel(csdl: Array(FuzzedService.csdl.utf8)))
        let declaration = AdapterDeclaration(
            name: "odata", title: "OData", summary: "Fuzzed.", version: "1",
            entities: tables.entities(searched: ["Things": ["Name"], "Kinds": ["Name"]]))
        let store = try SQLiteStore(SQLiteStoreSettings(path: directory.path, clock: FixedClock()))
        try await store.install(declaration.entities.map { CollectionDeclaration(adapter: "odata", entity: $0) })
        let records = AdapterRecords(store: store, declaration: declaration)
        try await fill(records, tables)
        var generator = RequestGenerator(seed: 7)
        var answered = 0
        for _ in 0..<Self.requests {
            let request = generator.next()
            guard let plan = plan(request, tables) else { continue }
            do {
                _ = try await records.withReadSnapshot { snapshot in
                    try plan.page(
                        at: Watched(snapshot: snapshot, store: store, declaration: declaration, request: request))
                }
                answered += 1
            } catch let error as PorticoError {
                #expect(
                    error.code == .requestInvalid || error.code == .requestLimitExceeded,
                    "\(error.message) \(error.logDetail ?? "") for \(request)")
            }
        }
        #expect(answered * 6 > Self.requests)
        await store.close()
    }

    private func plan(_ request: String, _ tables: ServiceTables) -> QueryPlan? {
        guard let target = try? RequestTarget(request), case .path(let segments) = target.resource,
            let set = segments.first?.name?.name
        else { return nil }
        return try? EntityQuery(set, options: target.options, pageSize: 3, now: FixedClock().now()).plan(in: tables)
    }

    private func fill(_ records: AdapterRecords, _ tables: ServiceTables) async throws {
        var changes = [RecordChange(tables["Kinds"]!.entity, .create(nil, ["ID": 1, "Name": "One"]))]
        for number in 1...6 {
            let fields: WireDictionary = [
                "ID": .int64(Int64(number)), "Name": "Thing", "KindID": 1, "Count": 5, "Price": 7, "Weight": 0.5,
                "Place": ["City": "Oxford", "Zip": 1], "Marks": [1, 2], "State": 3, "type__": "F.Thing",
            ]
            changes.append(RecordChange(tables["Things"]!.entity, .create(nil, fields)))
        }
        _ = try await records.apply(changes)
    }
}

/// A moment whose questions are looked at before they are asked.
private struct Watched: RecordSnapshot {
    let snapshot: any RecordSnapshot
    let store: SQLiteStore
    let declaration: AdapterDeclaration
    let request: String

    var position: Revision { snapshot.position }

    func record(_ id: RecordID, in entity: EntityName) throws -> Record? { try snapshot.record(id, in: entity) }

    func query(_ query: Query, in entity: EntityName) throws -> RecordPage { try snapshot.query(query, in: entity) }

    func count(_ filter: Filter?, in entity: EntityName) throws -> Int { try snapshot.count(filter, in: entity) }

    func rows(_ relation: Relation, _ receive: (any RowValues) throws -> Void) throws {
        let sql = try store.sql(of: relation, seen: VisibleRows(of: declaration, for: nil))
        for literal in [RequestGenerator.marker, RequestGenerator.numberMarker] {
            #expect(!sql.contains(literal), "\(request) makes \(sql)")
        }
        try snapshot.rows(relation, receive)
    }
}
