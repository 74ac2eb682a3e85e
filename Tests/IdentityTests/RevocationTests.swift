import AdapterKit
import Identity
import Testing

/// What a live stream sees, which was opened long ago and asks for nothing any more.
@Suite struct RevocationTests {
    enum Cause: String, CaseIterable {
        case signOut, everywhere, revocation, reuse, disabled, roles
    }

    private func cause(_ cause: Cause, _ house: TestHouse, _ signIn: SignIn) async throws {
        let admin = house.identity.administration
        switch cause {
        case .signOut: try await house.identity.signOut(signIn.authentication)
        case .everywhere: try await house.identity.signOutEverywhere(signIn.authentication)
        case .revocation: try await admin.revokeSessions(of: house.alice.id, by: .system)
        case .reuse:
            _ = try await house.identity.refresh(signIn.tokens.refreshToken)
            _ = await code { _ = try await house.identity.refresh(signIn.tokens.refreshToken) }
        case .disabled: try await admin.disable(house.alice.id, by: .system)
        case .roles: try await admin.setRoles([], of: house.alice.id, by: .system)
        }
    }

    @Test(arguments: Cause.allCases) func `a stream learns of its end`(cause: Cause) async throws {
        let house = try await TestHouse()
        let signIn = try await house.signIn()
        async let end: Void = house.identity.revoked(signIn.authentication)
        // Whether the cause comes before or after the watch began, the watch ends.
        await Task.yield()
        try await self.cause(cause, house, signIn)
        try await end
    }

    @Test(arguments: Cause.allCases)
    func `a stream that opens after the end learns of it at once`(cause: Cause) async throws {
        let house = try await TestHouse()
        let signIn = try await house.signIn()
        try await self.cause(cause, house, signIn)
        try await house.identity.revoked(signIn.authentication)
    }

    @Test func `other sign-ins of the account go on, and end with their tasks`() async throws {
        let house = try await TestHouse()
        let (mine, other) = (try await house.signIn(), try await house.signIn())
        let watch = Task { try await house.identity.revoked(other.authentication) }
        try await house.identity.signOut(mine.authentication)
        #expect(try await house.identity.authentication(sessionCookie: other.cookie) != nil)
        watch.cancel()
        try await watch.value
    }

    @Test func `a stream with an API key or Basic learns of its end too`() async throws {
        let house = try await TestHouse()
        let admin = house.identity.administration
        let (key, credential) = try await admin.createAPIKey(for: house.alice.id, title: "live", by: .system)
        let byKey = try #require(try await house.identity.authentication(bearer: credential))
        let byBasic = try #require(
            try await house.identity.authentication(basic: "alice", TestHouse.password, from: TestHouse.home))
        async let keyEnd: Void = house.identity.revoked(byKey)
        try await admin.revokeAPIKey(key.id, of: house.alice.id, by: .system)
        try await keyEnd
        async let basicEnd: Void = house.identity.revoked(byBasic)
        try await admin.setPassword(Secret("another password"), of: house.alice.id, by: .system)
        try await basicEnd
        try await house.identity.revoked(byBasic)
    }
}
