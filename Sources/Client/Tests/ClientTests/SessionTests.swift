import Client
import Synchronization
import Testing
import ValueTree

/// A gateway's sign-in: numbers its tokens, takes each refresh token once.
private final class SignInServer: Sendable {
    private struct State {
        var pair = 0
        var isEnded = false
        var refreshes = 0
    }

    private let state = Mutex(State())
    var refreshes: Int { state.withLock { $0.refreshes } }

    func end() { state.withLock { $0.isEnded = true } }
    /// As if the access token's time were over.
    func outdate() { state.withLock { $0.pair += 100 } }

    func answer(_ request: TransportRequest) throws -> TransportResponse {
        try state.withLock { state in
            switch request.url.split(separator: "/").last {
            case "login" where request.value["password"] == "right": return try Self.pair(&state)
            case "login": return try .refused(401, "auth.invalid")
            case "refresh":
                state.refreshes += 1
                let number = request.value["refreshToken"]?.stringValue.flatMap { Int($0) }
                guard !state.isEnded, let number, number % 100 == state.pair % 100 else {
                    return try .refused(401, "auth.invalid")
                }
                return try Self.pair(&state)
            default:
                guard !state.isEnded, request.token == "Bearer \(state.pair)" else {
                    return try .refused(401, "auth.required")
                }
                return try .value(["ok": true])
            }
        }
    }

    private static func pair(_ state: inout State) throws -> TransportResponse {
        state.pair += 1
        return try .value([
            "accessToken": .string("\(state.pair)"), "refreshToken": .string("\(state.pair)"), "expiresIn": 900,
            "user": ["id": "7", "name": "alice", "roles": ["member"]],
        ])
    }
}

@Suite("A session")
struct SessionTests {
    private let server = SignInServer()
    private let storage = CredentialsInMemory()
    private let address = ServerAddress("http://gateway.example/")!
    private let call = ServerCall(path: ["api", "v1", "notes", "a b"])

    private func session(now: @escaping @Sendable () -> Double = { 1_000 }) -> (Session, ScriptedTransport) {
        let transport = ScriptedTransport { [server] in try server.answer($0) }
        return (Session(server: address, transport: transport, storage: storage, now: now), transport)
    }

    @Test("signs in, puts its token on calls and keeps no password")
    func signsIn() async throws {
        let (session, transport) = session()
        let account = try await session.signIn(name: "alice", password: "right")
        #expect(account == Account(id: "7", name: "alice", roles: ["member"]))
        #expect(try await session.value(of: call) == ["ok": true])
        #expect(transport.requests.last?.url == "http://gateway.example/api/v1/notes/a%20b")
        let kept = try #require(await storage.load())
        #expect(!String(decoding: kept.bytes, as: UTF8.self).contains("right"))
        #expect(StoredCredentials(bytes: kept.bytes) == kept)
    }

    @Test("knows after a restart that it is signed in, before anything is asked")
    func remembers() async throws {
        #expect(try await session().0.isSignedIn() == false)
        try await session().0.signIn(name: "alice", password: "right")
        #expect(try await session().0.isSignedIn())
    }

    @Test("says which code a refused sign-in had")
    func refused() async throws {
        let (session, _) = session()
        await #expect(throws: ClientError.self) { try await session.signIn(name: "alice", password: "wrong") }
        do {
            try await session.signIn(name: "alice", password: "wrong")
        } catch ClientError.refused(let refusal) {
            #expect(refusal.code == "auth.invalid" && refusal.status == 401 && refusal.requestID == "r1")
        }
        #expect(try await session.account() == nil)
        await #expect(throws: ClientError.notSignedIn) { try await session.value(of: call) }
    }

    @Test("renews its token once, however many calls find it ended")
    func singleFlight() async throws {
        let (session, _) = session()
        try await session.signIn(name: "alice", password: "right")
        server.outdate()
        try await withThrowingTaskGroup(of: WireValue.self) { group in
            for _ in 0..<50 { group.addTask { try await session.value(of: call) } }
            for try await value in group { #expect(value == ["ok": true]) }
        }
        #expect(server.refreshes == 1)
    }

    @Test("renews its token before its time is over, also after a restart")
    func renewsInTime() async throws {
        let (first, _) = session()
        try await first.signIn(name: "alice", password: "right")
        let (second, transport) = session(now: { 1_000 + 880 })
        #expect(try await second.value(of: call) == ["ok": true])
        #expect(server.refreshes == 1)
        #expect(transport.requests.map { $0.url.split(separator: "/").last } == ["refresh", "a%20b"])
    }

    @Test("that the server ended says so, and still knows whose device it is")
    func ended() async throws {
        let (session, transport) = session()
        try await session.signIn(name: "alice", password: "right")
        server.end()
        for _ in 0..<2 {
            await #expect(throws: ClientError.signInEnded) { try await session.value(of: call) }
        }
        #expect(transport.requests(at: "refresh").count == 1)
        #expect(try await session.account()?.name == "alice")
        #expect(try await session.isSignedIn() == false)
    }

    @Test("is forgotten by signing out, whether the server can be reached or not")
    func signsOut() async throws {
        let (session, _) = session()
        try await session.signIn(name: "alice", password: "right")
        server.end()
        try await session.signOut()
        #expect(try await session.account() == nil)
        #expect(await storage.load() == nil)
    }

    @Test("keeps its tokens where a refresh gets no answer")
    func refreshWithoutAnswer() async throws {
        let (first, _) = session()
        try await first.signIn(name: "alice", password: "right")
        let dead = ScriptedTransport { _ in throw TransportError.unreachable("no network") }
        let second = Session(server: address, transport: dead, storage: storage, now: { 10_000 })
        await #expect(throws: ClientError.unreachable("no network")) { try await second.value(of: call) }
        #expect(try await second.isSignedIn())
    }

    @Test("shows no token in what it prints")
    func printsNothing() async throws {
        let tokens = StoredCredentials.Tokens(access: "secret-a", accessEnds: 1, refresh: "secret-r")
        let kept = StoredCredentials(account: Account(id: "1", name: "alice", roles: []), tokens: tokens)
        var text = "\(kept) \(tokens)"
        dump(kept, to: &text)
        #expect(!text.contains("secret"))
    }
}
