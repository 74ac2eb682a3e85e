import AdapterKit
import Identity
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
        async let end: Void = fixture.identity.revoked(signIn.authentication)
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
        try await fixture.identity.revoked(signIn.authentication)
    }

    @Test func `other sign-ins of the account go on, and end with their tasks`() async throws {
        let fixture = try await IdentityFixture()
        let (mine, other) = (try await fixture.signIn(), try await fixture.signIn())
        let watch = Task { try await fixture.identity.revoked(other.authentication) }
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
        async let keyEnd: Void = fixture.identity.revoked(byKey)
        try await admin.revokeAPIKey(key.id, of: fixture.alice.id, by: .system)
        try await keyEnd
        async let basicEnd: Void = fixture.identity.revoked(byBasic)
        try await admin.setPassword(Secret("another password"), of: fixture.alice.id, by: .system)
        try await basicEnd
        try await fixture.identity.revoked(byBasic)
    }
}
