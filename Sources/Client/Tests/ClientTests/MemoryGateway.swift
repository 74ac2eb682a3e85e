import AdapterKit
import Client
import MemoryStore
import RecordStorage
import SyncEngine
import SyncMessages
import Synchronization
import WireFormats

/// A gateway in memory: the real machines of pull and push over one collection, with a network that tests can break.
final class MemoryGateway: Transport {
    enum Fault: Sendable {
        /// The request never arrives.
        case lost
        /// The answer never arrives.
        case answerLost
        case refused(Int, String)
    }

    private struct State {
        var isOnline = true
        var describes = true
        var asOf: WireDate?
        var isSignedOut = false
        var faults: [@Sendable (TransportRequest) -> Fault?] = []
        var asked: [String] = []
        var attachments: [String: [UInt8]] = [:]
    }

    private let state = Mutex(State())
    private let store: MemoryStore
    private let pulls: PullMachine
    private let pushes: PushMachine

    init() async throws {
        store = MemoryStore(MemoryTables(), epoch: Epoch("one"), clock: StillClock())
        try await store.install(
            Self.declaration.entities.map { CollectionDeclaration(adapter: Self.declaration.name, entity: $0) })
        let catalogue = SyncCatalogue([Self.declaration])
        pulls = PullMachine(catalogue: catalogue, epoch: Epoch("one"), seal: UnkeyedSeal(), limits: PullLimits())
        pushes = PushMachine(catalogue: catalogue, epoch: Epoch("one"), seal: UnkeyedSeal())
    }

    var isOnline: Bool {
        get { state.withLock { $0.isOnline } }
        set { state.withLock { $0.isOnline = newValue } }
    }

    /// False: as a server that does not know `describe`.
    var describes: Bool {
        get { state.withLock { $0.describes } }
        set { state.withLock { $0.describes = newValue } }
    }

    /// When another system had the records, as pulls tell it.
    var asOf: WireDate? {
        get { state.withLock { $0.asOf } }
        set { state.withLock { $0.asOf = newValue } }
    }

    func signEverybodyOut() { state.withLock { $0.isSignedOut = true } }

    /// For the next request that it returns one for.
    func fail(once fault: @escaping @Sendable (TransportRequest) -> Fault?) {
        state.withLock { $0.faults.append(fault) }
    }

    /// What was to go wrong and has not yet never will.
    func failNoMore() { state.withLock { $0.faults = [] } }

    /// The paths asked for, in their order.
    var asked: [String] { state.withLock { $0.asked } }
    func attachment(_ digest: String) -> [UInt8]? { state.withLock { $0.attachments[digest] } }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        let fault = state.withLock { state -> Fault? in
            guard state.isOnline else { return .lost }
            state.asked.append(String(request.url.dropFirst("http://gateway.example".count)))
            guard let place = state.faults.firstIndex(where: { $0(request) != nil }) else { return nil }
            return state.faults.remove(at: place)(request)
        }
        if case .lost = fault { throw TransportError.unreachable("no network") }
        if case .refused(let status, let code) = fault { return try .refused(status, code) }
        let answer = try await answer(request)
        if case .answerLost = fault { throw TransportError.unreachable("cut off") }
        return answer
    }
}

extension MemoryGateway {
    private func answer(_ request: TransportRequest) async throws -> TransportResponse {
        let path = request.url.split(separator: "?")[0]
        if path.hasSuffix("/auth/login") {
            state.withLock { $0.isSignedOut = false }
            let name = request.value["username"] ?? "nobody"
            return try .value([
                "accessToken": name, "refreshToken": name, "expiresIn": 900, "user": ["id": name, "name": name],
            ])
        }
        guard let token = request.token, !state.withLock({ $0.isSignedOut }) else {
            return try .refused(401, "auth.invalid")
        }
        let name = String(token.dropFirst("Bearer ".count))
        let user = Principal(kind: .user, id: "id-\(name)", name: name, roles: [], attributes: [:])
        if path.hasSuffix("/pull") { return try await pull(PullRequest(from: request.value), user) }
        if path.hasSuffix("/push") { return try await push(PushRequest(from: request.value), user) }
        if path.hasSuffix("/live") { return try await news(request, user) }
        if path.contains("/attachments/") { return try attachment(request, String(path.suffix(64))) }
        return try .refused(404, "route.notFound")
    }

    private func pull(_ request: PullRequest, _ user: Principal) async throws -> TransportResponse {
        let pulls = pulls
        var request = request
        if !describes { request.describe = nil }
        do {
            var page = try await store.withReadSnapshot { [request] in
                try pulls.page(request, for: SyncCaller(user), at: $0)
            }
            if case .complete(var completion) = page.ending, let asOf {
                for index in completion.scopes.indices { completion.scopes[index].asOf = asOf }
                page.ending = .complete(completion)
            }
            return try .value(page.wireValue)
        } catch let error as PorticoError where error.code == .fetchAgain {
            return try .refused(410, "sync.fetchAgain")
        }
    }

    /// A long poll: looks again and again until there is something.
    private func news(_ request: TransportRequest, _ user: Principal) async throws -> TransportResponse {
        let checkpoint = request.url.split(separator: "checkpoint=").last.map { String($0.prefix { $0 != "&" }) }
        let pull = PullRequest(checkpoint: checkpoint, limit: 1)
        while true {
            let answer = try await self.pull(pull, user)
            guard answer.status == 200, try answer.value()["operations"] == [] else { return answer }
            try await Task.sleep(for: .milliseconds(2))
        }
    }

    private func push(_ request: PushRequest, _ user: Principal) async throws -> TransportResponse {
        let pushes = pushes
        var run = PushExecution(try pushes.plan(request, for: SyncCaller(user)))
        while let part = run.next {
            run.made(try await store.transact(weight: 1) { try pushes.perform(part, in: $0) })
        }
        return try .value(PushResponse(outcomes: run.outcomes, checkpoint: "none").wireValue)
    }

    private func attachment(_ request: TransportRequest, _ digest: String) throws -> TransportResponse {
        try state.withLock { state in
            guard request.method == "PUT" else {
                guard let bytes = state.attachments[digest] else { return try .refused(404, "record.notFound") }
                return TransportResponse(status: 200, headers: [], body: bytes)
            }
            state.attachments[digest, default: []] += request.body ?? []
            return try .value(
                ["complete": true, "received": .int64(Int64(state.attachments[digest]!.count))], status: 201)
        }
    }

    static let declaration = AdapterDeclaration(
        name: "world", title: "World", summary: "For tests.", version: "1",
        entities: [
            Entity(
                "notes", summary: "Owned and shared.", key: EntityKey("id"),
                fields: [
                    Field("id", .string), Field("owner", .string, source: .creator),
                    Field("sharedWith", .list(of: .string)), Field("title", .string(maximumLength: 20)),
                    Field("text", .string), Field("pages", .integer), Field("due", .date),
                    Field("times", .list(of: .date)),
                ],
                rows: RowRules(read: .any([.owner("owner"), .sharedWith("sharedWith")]), write: .owner("owner")))
        ])
}

private struct StillClock: WallClock {
    func now() -> WireDate { WireDate(secondsSinceReferenceDate: 0) }
}

/// Not secret; the machine's own tests see to that.
private struct UnkeyedSeal: CheckpointSeal {
    func code(for bytes: [UInt8]) -> [UInt8] { Array(repeating: UInt8(truncatingIfNeeded: bytes.count), count: 16) }
    func isCode(_ code: [UInt8], for bytes: [UInt8]) -> Bool { code == self.code(for: bytes) }
}
