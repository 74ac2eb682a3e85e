import Foundation
import ValueTree
import WireFormats

/// A sign-in at one gateway: keeps its tokens, renews them when they are due, and puts them on calls.
///
/// The password goes to the server once and is kept nowhere. However many calls find the access token ended, one refresh
/// is under way at a time, because a refresh token that is shown twice ends the sign-in.
public actor Session {
    /// The gateway's address.
    public nonisolated let server: ServerAddress
    private let transport: any Transport
    private let storage: any CredentialStorage
    private let now: @Sendable () -> Double
    private var credentials: StoredCredentials?
    private var isLoaded = false
    /// Not cancelled with the call that began it: its answer holds the only good refresh token.
    private var refresh: Task<Void, any Error>?
    private static let largestRefusal = 1 << 16

    /// - Parameter now: seconds since 1970.
    public init(
        server: ServerAddress, transport: any Transport, storage: any CredentialStorage,
        now: @escaping @Sendable () -> Double = WallTime.now
    ) {
        self.server = server
        self.transport = transport
        self.storage = storage
        self.now = now
    }

    /// Whose device this is: of the last sign-in, whether it still holds or not; nil before the first and after
    /// ``signOut()``. Needs no network.
    ///
    /// - Throws: ``ClientError/storage(_:)``.
    public func account() async throws -> Account? {
        try await load()
        return credentials?.account
    }

    /// Whether there are tokens. The server may have ended them all the same.
    public func isSignedIn() async throws -> Bool {
        try await load()
        return credentials?.tokens != nil
    }

    /// Signs in with a name and a password.
    ///
    /// - Throws: ``ClientError``: `refused` with the code `auth.invalid` where name or password are wrong, and with
    ///   `auth.throttled` and a time to wait after too many tries.
    @discardableResult
    public func signIn(name: String, password: String) async throws -> Account {
        try await load()
        let answer = try await exchange(["username": .string(name), "password": .string(password)], at: "login", nil)
        credentials = answer
        try await keep(answer)
        return answer.account
    }

    /// Ends the sign-in here and, where it can be reached, at the server.
    public func signOut() async throws {
        try await load()
        try? await refresh?.value
        let call = ServerCall("POST", path: ["auth", "logout"], body: .value([:]))
        if credentials?.tokens != nil { _ = try? await answer(to: call) }
        credentials = nil
        try await useStorage { try await self.storage.delete() }
    }

    /// Sends a call with this sign-in and waits for its answer; where the access token has ended, after renewing it.
    ///
    /// - Returns: an answer of status 2xx or 304.
    /// - Throws: ``ClientError``, or `CancellationError`.
    public func answer(to call: ServerCall) async throws -> TransportResponse {
        try check(await response(to: call))
    }

    /// The same, whatever the answer's status is.
    ///
    /// - Throws: ``ClientError/signInEnded`` for 401 all the same, unless the call goes without a credential.
    public func response(to call: ServerCall) async throws -> TransportResponse {
        try await withToken(call, status: \.status) { try await self.transmit(call, token: $0) }
    }

    /// The same for an answer that comes piece by piece. It ends with the stream, not with the sign-in: what the server
    /// reports afterwards goes to the account that signed in then.
    ///
    /// - Returns: a stream whose answer is of status 2xx.
    public func open(_ call: ServerCall) async throws -> TransportStream {
        let stream = try await withToken(call, status: \.head.status) {
            try await self.begin(call, token: $0)
        }
        guard !stream.head.isSuccess else { return stream }
        var refused = stream.head
        for try await piece in stream.pieces where refused.body.count + piece.count <= Self.largestRefusal {
            refused.body += piece
        }
        throw ClientError.refused(refused.refusal)
    }

    /// The same for a call whose answer is a value.
    public func value(of call: ServerCall) async throws -> WireValue {
        try await answer(to: call).value()
    }
}

extension Session {
    private func load() async throws {
        guard !isLoaded else { return }
        let found = try await useStorage { try await self.storage.load() }
        // Another call may have come first while this one waited.
        guard !isLoaded else { return }
        isLoaded = true
        credentials = found
    }

    /// A good one, as far as this device's clock can tell.
    private func accessToken() async throws -> String {
        try await load()
        guard let found = credentials else { throw ClientError.notSignedIn }
        guard let tokens = found.tokens else { throw ClientError.signInEnded }
        guard now() >= tokens.accessEnds else { return tokens.access }
        try await renew(unlike: tokens.access)
        guard let fresh = credentials?.tokens else { throw ClientError.signInEnded }
        return fresh.access
    }

    /// Returns once there is another access token than `old`.
    private func renew(unlike old: String) async throws {
        guard credentials?.tokens?.access == old else { return }
        let renewal = refresh ?? Task { try await self.renewNow() }
        refresh = renewal
        try await renewal.value
    }

    private func renewNow() async throws {
        defer { refresh = nil }
        guard let current = credentials, let tokens = current.tokens else { return }
        do {
            let fresh = try await exchange(["refreshToken": .string(tokens.refresh)], at: "refresh", current.account)
            try await replace(current, with: fresh)
        } catch ClientError.refused(let refusal) where refusal.status == 401 {
            try await replace(current, with: StoredCredentials(account: current.account, tokens: nil))
            throw ClientError.signInEnded
        }
    }

    /// Unless there was a sign-in or sign-out meanwhile.
    private func replace(_ old: StoredCredentials, with new: StoredCredentials) async throws {
        guard credentials == old else { return }
        credentials = new
        try await keep(new)
    }

    private func exchange(_ body: WireValue, at name: String, _ known: Account?) async throws -> StoredCredentials {
        let call = ServerCall("POST", path: ["auth", name], body: .value(body), needsSignIn: false)
        let value = try await check(transmit(call, token: nil)).value()
        guard let access = value["accessToken"]?.stringValue, let refresh = value["refreshToken"]?.stringValue,
            let lasts = value["expiresIn"]?.doubleValue ?? value["expiresIn"]?.int64Value.map({ Double($0) }),
            let account = Account(value["user"]) ?? known
        else { throw ClientError.unreadableAnswer("a sign-in without its tokens") }
        // Renewed a little before its end, so that it does not end on the way.
        let ends = now() + max(0, lasts - min(30, lasts / 10))
        return StoredCredentials(
            account: account, tokens: StoredCredentials.Tokens(access: access, accessEnds: ends, refresh: refresh))
    }

    private func keep(_ credentials: StoredCredentials) async throws {
        try await useStorage { try await self.storage.save(credentials) }
    }

    private func useStorage<Result: Sendable>(_ work: @Sendable () async throws -> Result) async throws -> Result {
        do {
            return try await work()
        } catch {
            throw ClientError.storage("credentials: \(error)")
        }
    }
}

extension Session {
    /// With the token that there is, and once more with a fresh one where that one has ended.
    private func withToken<Answer: Sendable>(
        _ call: ServerCall, status: @Sendable (Answer) -> Int, _ send: (String?) async throws -> Answer
    ) async throws -> Answer {
        guard call.needsSignIn else { return try await send(nil) }
        let token = try await accessToken()
        let first = try await send(token)
        guard status(first) == 401 else { return first }
        try await renew(unlike: token)
        let second = try await send(try await accessToken())
        guard status(second) == 401 else { return second }
        throw ClientError.signInEnded
    }

    private func begin(_ call: ServerCall, token: String?) async throws -> TransportStream {
        let request = try TransportRequest(call, at: server, token: token)
        do {
            return try await transport.open(request)
        } catch let error as TransportError {
            throw ClientError(error)
        }
    }

    private func transmit(_ call: ServerCall, token: String?) async throws -> TransportResponse {
        let request = try TransportRequest(call, at: server, token: token)
        do {
            return try await transport.send(request)
        } catch let error as TransportError {
            throw ClientError(error)
        }
    }

    private func check(_ response: TransportResponse) throws -> TransportResponse {
        guard response.isSuccess else { throw ClientError.refused(response.refusal) }
        return response
    }
}

/// The account that is signed in.
public struct Account: Sendable, Equatable {
    /// The account's id, which never changes.
    public let id: String
    /// The account's name.
    public let name: String
    /// The account's roles.
    public let roles: [String]

    /// Creates an account from its parts.
    public init(id: String, name: String, roles: [String]) {
        self.id = id
        self.name = name
        self.roles = roles
    }

    init?(_ value: WireValue?) {
        guard let value, let id = value["id"]?.stringValue, let name = value["name"]?.stringValue else { return nil }
        self.init(id: id, name: name, roles: (value["roles"]?.arrayValue ?? []).compactMap(\.stringValue))
    }

    var wireValue: WireValue {
        ["id": .string(id), "name": .string(name), "roles": .array(roles.map(WireValue.string))]
    }
}

/// The device's clock, as people set it.
public enum WallTime {
    /// Seconds since 1970.
    public static let now: @Sendable () -> Double = { Date().timeIntervalSince1970 }
}
