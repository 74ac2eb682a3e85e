import AdapterKit
import Identity
import Testing

@Suite struct RefreshTests {
    @Test func `a refresh token gives the next pair, again and again`() async throws {
        let fixture = try await IdentityFixture()
        var tokens = try await fixture.signIn().tokens
        for _ in 0..<5 {
            fixture.clock.advance(1000)
            #expect(try await fixture.identity.authentication(bearer: tokens.accessToken) == nil)
            tokens = try await fixture.identity.refresh(tokens.refreshToken)
            #expect(try await fixture.identity.authentication(bearer: tokens.accessToken) != nil)
        }
    }

    @Test func `a refresh token used twice ends the whole sign-in`() async throws {
        let fixture = try await IdentityFixture()
        let signIn = try await fixture.signIn()
        let next = try await fixture.identity.refresh(signIn.tokens.refreshToken)
        _ = try await fixture.identity.authentication(bearer: next.accessToken)
        #expect(
            await code { _ = try await fixture.identity.refresh(signIn.tokens.refreshToken) } == .credentialsInvalid)
        await fixture.expectEnded(signIn)
        #expect(await code { _ = try await fixture.identity.refresh(next.refreshToken) } == .credentialsInvalid)
        #expect(try await fixture.identity.authentication(bearer: next.accessToken) == nil)
        let kinds = try await fixture.identity.administration.auditEntries().map(\.kind)
        #expect(kinds.first == "signIn.refreshTokenReused")
    }

    @Test(arguments: 1...5)
    func `of 50 who show one refresh token at once one wins, then the family is dead`(round: Int) async throws {
        let fixture = try await IdentityFixture()
        let signIn = try await fixture.signIn()
        let pairs = await withTaskGroup(of: TokenPair?.self) { group in
            for _ in 0..<50 { group.addTask { try? await fixture.identity.refresh(signIn.tokens.refreshToken) } }
            return await group.reduce(into: []) { $0.append($1) }.compactMap { $0 }
        }
        #expect(pairs.count == 1)
        let winner = try #require(pairs.first)
        #expect(await code { _ = try await fixture.identity.refresh(winner.refreshToken) } == .credentialsInvalid)
        #expect(try await fixture.identity.authentication(bearer: winner.accessToken) == nil)
        await fixture.expectEnded(signIn)
    }

    @Test func `a note of the last use does not look like reuse`() async throws {
        let fixture = try await IdentityFixture()
        let signIn = try await fixture.signIn()
        _ = try await fixture.identity.authentication(sessionCookie: signIn.cookie)
        fixture.store.interfere { _ in try? await fixture.identity.maintain() }
        let next = try await fixture.identity.refresh(signIn.tokens.refreshToken)
        #expect(try await fixture.identity.authentication(bearer: next.accessToken) != nil)
    }

    @Test func `a forged token that names a session ends nothing`() async throws {
        let fixture = try await IdentityFixture()
        let signIn = try await fixture.signIn()
        let id = try #require(signIn.authentication.session)
        let secret = String(repeating: "A", count: 43)
        let forged = Secret("\(id).\(secret).\(secret)")
        #expect(await code { _ = try await fixture.identity.refresh(forged) } == .credentialsInvalid)
        #expect(try await fixture.identity.authentication(sessionCookie: signIn.cookie) != nil)
    }

    @Test func `a refresh token ends with its lifetime, and the family with its own`() async throws {
        let fixture = try await IdentityFixture {
            $0.tokens.refreshLifetime = .seconds(1000)
            $0.tokens.familyLifetime = .seconds(1500)
        }
        var tokens = try await fixture.signIn().tokens
        fixture.clock.advance(999)
        tokens = try await fixture.identity.refresh(tokens.refreshToken)
        fixture.clock.advance(501)
        #expect(await code { _ = try await fixture.identity.refresh(tokens.refreshToken) } == .credentialsInvalid)
    }

    @Test func `a disabled account refreshes nothing, and neither does it after it is enabled`() async throws {
        let fixture = try await IdentityFixture()
        let signIn = try await fixture.signIn()
        try await fixture.identity.administration.disable(fixture.alice.id, by: .system)
        await fixture.expectEnded(signIn)
        try await fixture.identity.administration.enable(fixture.alice.id, by: .system)
        await fixture.expectEnded(signIn)
        _ = try await fixture.signIn()
    }
}
