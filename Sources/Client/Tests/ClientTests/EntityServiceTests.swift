import Client
import Testing
import ValueTree

/// Records of an entity, online.
@Suite("An entity's records")
struct EntityServiceTests {
    private struct Item: Codable, Sendable, Equatable {
        var id: String
        var title: String?
    }

    private func service(
        _ answer: @escaping @Sendable (TransportRequest) throws -> TransportResponse
    ) async throws -> (EntityService<Item>, ScriptedTransport) {
        let transport = ScriptedTransport { request in
            guard !request.url.hasSuffix("/auth/login") else {
                return try .value([
                    "accessToken": "a", "refreshToken": "r", "tokenType": "Bearer", "expiresIn": 900,
                    "user": ["id": "7", "name": "alice", "roles": []],
                ])
            }
            return try answer(request)
        }
        let session = Session(
            server: ServerAddress("http://gateway.example")!, transport: transport, storage: CredentialsInMemory(),
            now: { 1_000 })
        try await session.signIn(name: "alice", password: "right")
        return (EntityService(session, adapter: "shop", entity: "items"), transport)
    }

    @Test("are read page by page, each page once")
    func pages() async throws {
        let (service, transport) = try await service { request in
            let isSecond = request.url.contains("cursor=c1")
            return try .value(
                isSecond
                    ? ["items": [["id": "3"]], "next": .null]
                    : ["items": [["id": "1"], ["id": "2"]], "next": "c1"])
        }
        var ids: [String] = []
        for try await item in service.all(RecordPageQuery(filter: "a eq 1", limit: 2)) { ids.append(item.id) }
        #expect(ids == ["1", "2", "3"])
        let asked = transport.requests.filter { $0.url.contains("/api/v1/shop/items?") }
        #expect(
            asked.count == 2 && asked.allSatisfy { $0.url.contains("limit=2") && $0.url.contains("filter=a%20eq%201") })
    }

    @Test("that are none end at once")
    func none() async throws {
        let (service, transport) = try await service { _ in try .value(["items": []]) }
        for try await item in service.all() { Issue.record("\(item)") }
        #expect(transport.requests.count == 2)
    }

    @Test("are read, made, changed and deleted one by one")
    func single() async throws {
        let (service, transport) = try await service { request in
            request.method == "DELETE"
                ? TransportResponse(status: 204) : try .value(["id": "a/b", "title": "T"], status: 200)
        }
        #expect(try await service.record("a/b") == Item(id: "a/b", title: "T"))
        #expect(try await service.create(Item(id: "x", title: "T")).title == "T")
        #expect(transport.requests.last?.value["id"] == "x")
        #expect(try await service.update("a/b", ["title": "T"]).id == "a/b")
        try await service.delete("a/b")
        #expect(transport.requests.dropFirst().map(\.method) == ["GET", "POST", "PATCH", "DELETE"])
        #expect(transport.requests.dropFirst().map(\.url).filter { $0.hasSuffix("/shop/items/a%2Fb") }.count == 3)
    }
}
