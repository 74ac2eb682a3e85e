import AdapterKit
import Foundation
import Identity
import Synchronization
import Testing

/// What a live stream sees, which was opened long ago and asks for nothing any more.
@Suite struct RevocationTests {
    enum Cause: String, CaseIterable {
        case signOut, everywhere, revocation, reuse, disabled, roles
    }

    private func cause(_ cause: Cause, _ fixture: IdentityFixture, _ signIn: SignIn) async throws {
        let admin = fixture.identity.administration
        switch cause {
        case .signOut: try await fixture.identity.signOut(signIn.authentication)
        case .everywhere: try await fixture.identity.signOutEverywhere(signIn.authentication)
        case .revocation: try await admin.revokeSessions(of: fixture.alice.id, by: .system)
        case .reuse:
            _ = try await fixture.identity.refresh(signIn.tokens.refreshToken)
            _ = await code { _ = try await fixture.identity.refresh(signIn.tokens.refreshToken) }
        case .disabled: try await admin.disable(fixture.alice.id, by: .system)
        case .roles: try await admin.setRoles([], of: fixture.alice.id, by: .system)
        }
    }

    @Test(arguments: Cause.allCases) func `a stream learns of its end`(cause: Cause) async throws {
        let fixture = try await IdentityFixture()
        let signIn = try await fixture.signIn()
        async let end: Void = fixture.identity.waitUntilRevoked(signIn.authentication)
        // Whether the cause comes before or after the watch began, the watch ends.
        await Task.yield()
        try await self.cause(cause, fixture, signIn)
        try await end
    }

    @Test(arguments: Cause.allCases)
    func `a stream that opens after the end learns of it at once`(cause: Cause) async throws {
        let fixture = try await IdentityFixture()
        let signIn = try await fixture.signIn()
        try await self.cause(cause, fixture, signIn)
        try await fixture.identity.waitUntilRevoked(signIn.authentication)
    }

    @Test(arguments: Cause.allCases) func `who keeps things in the account's name learns of it`(cause: Cause)
        async throws
    {
        let fixture = try await IdentityFixture()
        let signIn = try await fixture.signIn()
        let ended = Mutex<Set<String>>([])
        fixture.identity.observeRevocations { account in ended.withLock { _ = $0.insert(account) } }
        try await self.cause(cause, fixture, signIn)
        #expect(ended.withLock { $0 } == [fixture.alice.id.text])
    }

    @Test func `a sign-in has another name once its roles or the account's password are others`() async throws {
        let fixture = try await IdentityFixture()
        let admin = fixture.identity.administration
        let (_, credential) = try await admin.createAPIKey(for: fixture.alice.id, title: "live", by: .system)
        func name() async throws -> String {
            try #require(try await fixture.identity.authentication(bearer: credential)).signIn
        }
        var names = [try await name(), try await name()]
        #expect(names[0] == names[1])
        try await admin.setRoles(["member", "hr"], of: fixture.alice.id, by: .system)
        names.append(try await name())
        try await admin.setPassword(Secret("another password"), of: fixture.alice.id, by: .system)
        names.append(try await name())
        names.append(try await fixture.signIn("alice", Secret("another password")).authentication.signIn)
        #expect(Set(names).count == 4)
    }

    @Test func `a token about a caller has the roles of the credential that the account still has`() async throws {
        let fixture = try await IdentityFixture()
        let admin = fixture.identity.administration
        try await admin.setRoles(["hr", "member"], of: fixture.alice.id, by: .system)
        let (_, credential) = try await admin.createAPIKey(
            for: fixture.alice.id, title: "narrow", roles: ["member", "audit"], by: .system)
        func roles(of principal: Principal) async throws -> [String] {
            let token = try await fixture.identity.subjectToken(about: principal, audience: "https://id.example/token")
            let part = try #require(token.reveal().split(separator: ".").dropFirst().first)
            let claims = try JSONDecoder().decode(Roles.self, from: Data(try #require(Base64URL.decode(String(part)))))
            return claims.roles
        }
        let whole = try await fixture.signIn().authentication.principal
        let narrow = try #require(try await fixture.identity.authentication(bearer: credential)).principal
        #expect(try await roles(of: whole) == ["hr", "member"])
        #expect(try await roles(of: narrow) == ["member"])
        // Of a call that began before.
        try await admin.setRoles(["audit", "hr"], of: fixture.alice.id, by: .system)
        #expect(try await roles(of: whole) == ["hr"])
        #expect(try await roles(of: narrow) == [])
    }

    private struct Roles: Decodable {
        let roles: [String]
    }

    @Test func `other sign-ins of the account go on, and end with their tasks`() async throws {
        let fixture = try await IdentityFixture()
        let (mine, other) = (try await fixture.signIn(), try await fixture.signIn())
        let watch = Task { try await fixture.identity.waitUntilRevoked(other.authentication) }
        try await fixture.identity.signOut(mine.authentication)
        #expect(try await fixture.identity.authentication(sessionCookie: other.cookie) != nil)
        watch.cancel()
        try await watch.value
    }

    @Test func `a stream with an API key or Basic learns of its end too`() async throws {
        let fixture = try await IdentityFixture()
        let admin = fixture.identity.administration
        let (key, credential) = try await admin.createAPIKey(for: fixture.alice.id, title: "live", by: .system)
        let byKey = try #require(try await fixture.identity.authentication(bearer: credential))
        let byBasic = try #require(
            try await fixture.identity.authentication(
                basic: "alice", IdentityFixture.password, from: IdentityFixture.home))
        async let keyEnd: Void = fixture.identity.waitUntilRevoked(byKey)
        try await admin.revokeAPIKey(key.id, of: fixture.alice.id, by: .system)
        try await keyEnd
        async let basicEnd: Void = fixture.identity.waitUntilRevoked(byBasic)
        try await admin.setPassword(Secret("another password"), of: fixture.alice.id, by: .system)
        try await basicEnd
        try await fixture.identity.waitUntilRevoked(byBasic)
    }
}
