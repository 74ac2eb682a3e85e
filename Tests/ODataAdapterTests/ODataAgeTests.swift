import AdapterKit
import AdapterTesting
import Foundation
import ODataAdapter
import RecordStorage
import SQLiteStore
import Synchronization
import Testing

/// Ages that a test makes up, and what is asked for.
private final class MadeUpAges: RecordAges {
    let mirrored: Set<EntityName>
    let error: PorticoError?
    let asked = Mutex<[Set<EntityName>]>([])
    let age = RecordAge(
        asOf: WireDate(rfc3339: "2026-11-23T01:02:03Z")!, seconds: 77,
        cacheStatus: "portico; fwd=stale; detail=upstream-timeout")

    init(_ mirrored: Set<EntityName>, error: PorticoError? = nil) {
        self.mirrored = mirrored
        self.error = error
    }

    func age(of entities: Set<EntityName>) async throws -> RecordAge? {
        asked.withLock { $0.append(entities) }
        guard !mirrored.isDisjoint(with: entities) else { return nil }
        if let error { throw error }
        return age
    }
}

/// A service whose `Books` mirror another system as far as its host says so.
@Suite struct ODataAgeTests {
    private static let model = """
        <?xml version="1.0" encoding="UTF-8"?>
        <edmx:Edmx xmlns:edmx="http://docs.oasis-open.org/odata/ns/edmx" Version="4.0"><edmx:DataServices>
        <Schema xmlns="http://docs.oasis-open.org/odata/ns/edm" Namespace="Library">
          <EntityType Name="Book"><Key><PropertyRef Name="ID"/></Key>
            <Property Name="ID" Type="Edm.Int32" Nullable="false"/>
            <Property Name="Title" Type="Edm.String" MaxLength="100"/></EntityType>
          <EntityType Name="Shelf"><Key><PropertyRef Name="ID"/></Key>
            <Property Name="ID" Type="Edm.Int32" Nullable="false"/></EntityType>
          <EntityContainer Name="Container">
            <EntitySet Name="Books" EntityType="Library.Book"/><EntitySet Name="Shelves" EntityType="Library.Shelf"/>
          </EntityContainer>
        </Schema></edmx:DataServices></edmx:Edmx>
        """
    private static let books: EntityName = "library-Books"

    private struct Service {
        let adapter: any Adapter
        let records: any RecordStore
        let declaration: AdapterDeclaration

        func answer(
            _ method: String = "GET", _ path: String, _ ages: any RecordAges, version: String = "v4",
            headers: MountHeaders = [:], body: String = ""
        ) async throws -> (status: Int, headers: MountHeaders, text: String) {
            let root = "/odata/\(version)/library"
            let mount = try #require(declaration.mounts.first { "\($0.path)" == root })
            #expect(mount.tellsAge)
            let answer = try await adapter.handle(
                MountRequest(
                    mount: mount.name, method: method, target: "\(root)/\(path)", origin: "http://portico.example",
                    headers: headers, body: Array(body.utf8), caller: .testUser, requestID: "test",
                    deadline: .now + .seconds(30), records: records, ages: ages, log: .discarding))
            var bytes: [UInt8] = []
            switch answer.body {
            case .bytes(let all): bytes = all
            case .stream(let pieces): while let piece = try await pieces.next() { bytes += piece }
            }
            return (answer.status, answer.headers, String(decoding: bytes, as: UTF8.self))
        }
    }

    private func withService<Result>(_ body: (Service) async throws -> Result) async throws -> Result {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("portico-age-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try Self.model.write(to: folder.appendingPathComponent("library.xml"), atomically: true, encoding: .utf8)
        let configuration = AdapterConfiguration(
            ["services": ["library": ["model": "library.xml", "access": "public"]]], directory: folder.path)
        let declaration = try ODataModule.declare(configuration)
        let adapter = try ODataModule.make(configuration)
        let clock = SettableClock()
        let store = try SQLiteStore(
            SQLiteStoreSettings(path: folder.appendingPathComponent("store.sqlite").path, clock: clock))
        try await store.install(
            declaration.entities.map { CollectionDeclaration(adapter: declaration.name, entity: $0) })
        let records = AdapterRecords(store: store, declaration: declaration)
        try await adapter.start(
            AdapterContext(records: records, accounts: MemoryAccounts([]), log: .discarding, clock: clock))
        let service = Service(adapter: adapter, records: records, declaration: declaration)
        for set in ["Books", "Shelves"] {
            let made = try await service.answer(
                "POST", set, NoRecordAges(), headers: ["Content-Type": "application/json"], body: #"{"ID":1}"#)
            #expect(made.status == 201)
        }
        let result = try await body(service)
        await adapter.stop()
        await store.close()
        return result
    }

    private static let annotation = #""@Portico.asOf":"2026-11-23T01:02:03Z""#

    @Test func `collections and entities that mirror another system say when it had them`() async throws {
        try await withService { service in
            let ages = MadeUpAges([Self.books])
            for path in [
                "Books", "Books(1)", "Books(1)/Title", "Books?$expand=*", "Books/$ref",
                "Books?$apply=aggregate($count as N)",
            ] {
                let answer = try await service.answer("GET", path, ages)
                #expect(answer.status < 300, "\(path): \(answer.text)")
                #expect(answer.headers["Age"] == "77")
                #expect(answer.headers["Cache-Status"] == "portico; fwd=stale; detail=upstream-timeout")
                #expect(answer.status == 204 || answer.text.contains(Self.annotation), "\(path): \(answer.text)")
            }
            #expect(ages.asked.withLock { $0.first } == [Self.books])
        }
    }

    @Test func `what mirrors nothing, has no metadata or is written says nothing`() async throws {
        try await withService { service in
            let ages = MadeUpAges([Self.books])
            let local = try await service.answer("GET", "Shelves", ages)
            #expect(!local.text.contains("Portico.asOf"))
            #expect(local.headers["Age"] == nil)
            let bare = try await service.answer(
                "GET", "Books", ages, headers: ["Accept": "application/json;odata.metadata=none"])
            #expect(!bare.text.contains("Portico.asOf"))
            #expect(bare.headers["Age"] == "77")
            let asked = ages.asked.withLock { $0.count }
            _ = try await service.answer(
                "POST", "Books", ages, headers: ["Content-Type": "application/json"], body: #"{"ID":2}"#)
            _ = try await service.answer("GET", "$metadata", ages)
            #expect(ages.asked.withLock { $0.count } == asked)
        }
    }

    @Test func `each request of a batch has its own age, or is refused by itself`() async throws {
        let body = #"""
            {"requests":[{"id":"1","method":"GET","url":"Books"},{"id":"2","method":"GET","url":"Shelves"}]}
            """#
        try await withService { service in
            let headers: MountHeaders = ["Content-Type": "application/json"]
            let answer = try await service.answer(
                "POST", "$batch", MadeUpAges([Self.books]), headers: headers, body: body)
            #expect(answer.text.components(separatedBy: #""age":"77""#).count == 2, "\(answer.text)")
            #expect(answer.text.components(separatedBy: Self.annotation).count == 2)
            #expect(answer.headers["Age"] == nil)
            let old = MadeUpAges(
                [Self.books], error: PorticoError(.adapterUnavailable, "The system hr does not answer."))
            let refused = try await service.answer("POST", "$batch", old, headers: headers, body: body)
            #expect(refused.text.contains(#""status":503"#))
            #expect(refused.text.contains(#""status":200"#))
        }
    }

    @Test func `the requests of a batch in parts have their ages`() async throws {
        let parts = ["Books", "Shelves"].map {
            "--b\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\nGET \($0) HTTP/1.1\r\n\r\n\r\n"
        }.joined()
        try await withService { service in
            for version in ["v4", "v2"] {
                let answer = try await service.answer(
                    "POST", "$batch", MadeUpAges([Self.books]), version: version,
                    headers: ["Content-Type": "multipart/mixed;boundary=b"], body: parts + "--b--\r\n")
                #expect(answer.text.components(separatedBy: "Age: 77\r\n").count == 2, "\(answer.text)")
            }
        }
    }

    @Test func `answers of version 2 have the age in their header`() async throws {
        try await withService { service in
            for path in ["Books", "Books(1)"] {
                let answer = try await service.answer("GET", path, MadeUpAges([Self.books]), version: "v2")
                #expect(answer.headers["Age"] == "77")
                #expect(!answer.text.contains("asOf"))
            }
        }
    }
}
