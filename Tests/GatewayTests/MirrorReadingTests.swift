import AdapterKit
import HTTPTypes
import MemoryStore
import RecordStorage
import Synchronization
import Testing

@testable import Gateway

/// An operation that decides itself about its caller, over rows of another system that are not fresh.
@Suite struct MirrorReadingTests {
    /// Lets in who asks for anything else than `closed`, and answers with the number of rows.
    private final class Counting: Adapter {
        private static let rows: EntityName = "rows"
        private let state = Mutex((calls: 0, fetches: 0))
        var calls: Int { state.withLock { $0.calls } }
        var fetches: Int { state.withLock { $0.fetches } }

        static let declaration = AdapterDeclaration(
            name: "counting", title: "Counting", summary: "", version: "1",
            entities: [
                Entity(rows, summary: "", key: EntityKey("id"), fields: [Field("id", .string)], readers: .public)
            ],
            operations: [
                Operation(
                    "count", summary: "", effect: .reads,
                    input: ObjectShape("Name", members: [Member("name", .string, isRequired: true)]),
                    output: .object(ObjectShape("Count", members: [Member("count", .integer)])),
                    authorization: .byOperation, caching: .untilRecordsChange, entities: [rows],
                    bindings: [HTTPBinding(.get, "/count/{name}")])
            ],
            mirrors: [MirrorSource(rows, of: "hr", settings: MirrorSettings(freshFor: .zero, waitFor: .seconds(30)))])

        func handle(_ call: Call) async throws -> OperationResult {
            state.withLock { $0.calls += 1 }
            switch call["name"].stringValue {
            case "closed": throw PorticoError(.loginRequired, "This needs a login.")
            case "broken": throw PorticoError(.recordConflict, "It is broken.")
            default: return .value(["count": .int64(Int64(try await call.records.count(nil, in: Self.rows)))])
            }
        }

        func readMirror(_ request: MirrorRequest) async throws -> MirrorPage {
            state.withLock { $0.fetches += 1 }
            return MirrorPage([["id": "a"], ["id": "b"]])
        }

    }

    /// Each look at it is a second later.
    private final class TickingTime: WallClock {
        private let seconds = Mutex(0.0)

        func now() -> WireDate {
            seconds.withLock { seconds in
                seconds += 1
                return WireDate(secondsSinceReferenceDate: seconds)
            }
        }
    }

    private struct Answered {
        let status: Int
        let body: String
        let hasAge: Bool
    }

    private func ask(_ names: String...) async throws -> (answers: [Answered], calls: Int, fetches: Int) {
        let (adapter, clock) = (Counting(), TickingTime())
        let store = MemoryStore(clock: clock)
        let collections = Counting.declaration.entities.map {
            CollectionDeclaration(adapter: Counting.declaration.name, entity: $0)
        }
        try await store.install(collections)
        let served = ServedAdapter(
            declaration: Counting.declaration, adapter: adapter,
            mirroring: try await MirrorSetup(collections.map { $0.id }, in: store, clock: clock), log: .discarding)
        served.status.change { lifecycle in
            _ = lifecycle.begin()
            _ = lifecycle.noteReturn(failingWith: nil, at: clock.now())
        }
        let services = GatewayServices(store: store, limits: GatewayLimits(), clock: clock)
        let operation = try #require(Counting.declaration.operations.first)
        let endpoint = OperationEndpoint(
            served: served, operation: operation, binding: try #require(operation.bindings.first), services: services)
        let gateway = Gateway(
            routes: try RouteTable([Route(.get, "/count/{name}", endpoint)]), authenticator: Nobody(),
            csrf: CSRFProtection(identity: nil), cors: CrossOrigin(origins: [], maxAge: 0), services: services,
            errors: ErrorWriter(answers: services.encoder), log: .discarding)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await served.parts.keepMirrors() }
            var answers: [Answered] = []
            for name in names {
                let request = GatewayRequest(
                    id: "1", method: .get, target: try #require(RequestTarget("/count/\(name)")), headers: [:],
                    peer: "192.0.2.1", body: .bytes([]), deadline: .now + .seconds(60))
                let response = await gateway.respond(to: request).response
                answers.append(
                    Answered(
                        status: response.status.code, body: String(decoding: response.body, as: UTF8.self),
                        hasAge: response.headers[.age] != nil))
            }
            group.cancelAll()
            return (answers, adapter.calls, adapter.fetches)
        }
    }

    private struct Nobody: Authenticator {
        func caller(of request: GatewayRequest) async throws -> Caller { .anonymous }
        func immediateCaller(of request: GatewayRequest) -> Caller? { .anonymous }
        func challenge(_ response: inout GatewayResponse) {}
    }

    @Test(.timeLimit(.minutes(5))) func `is made once, over rows that were fetched for it`() async throws {
        let (answers, calls, fetches) = try await ask("open")
        #expect(answers.map(\.status) == [200] && answers.allSatisfy { $0.body.contains("2") && $0.hasAge })
        #expect(calls == 1 && fetches >= 1)
    }

    @Test(.timeLimit(.minutes(5))) func `has nothing fetched for a caller whom it refuses`() async throws {
        let (answers, calls, fetches) = try await ask("closed")
        #expect(answers.map(\.status) == [401] && answers.allSatisfy { !$0.hasAge })
        #expect(calls == 1 && fetches == 0)
    }

    @Test(.timeLimit(.minutes(5))) func `answers its own errors, and is not made again for them`() async throws {
        let (answers, calls, fetches) = try await ask("broken")
        #expect(answers.map(\.status) == [409])
        #expect(calls == 1 && fetches == 0)
    }

    @Test(.timeLimit(.minutes(5))) func `is not made where its answer is kept and the rows stay as they are`()
        async throws
    {
        let (answers, calls, fetches) = try await ask("open", "open")
        #expect(answers.map(\.status) == [200, 200] && answers.allSatisfy(\.hasAge))
        #expect(calls == 1 && fetches >= 2)
    }
}
