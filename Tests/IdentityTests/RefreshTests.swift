import AdapterKit
import Identity
import Testing

@Suite struct RefreshTests {
    @Test func `a refresh token gives the next pair, again and again`() async throws {
        let house = try await TestHouse()
        var tokens = try await house.signIn().tokens
        for _ in 0..<5 {
            house.clock.advance(1000)
            #expect(try await house.identity.authentication(bearer: tokens.accessToken) == nil)
            tokens = try await house.identity.refresh(tokens.refreshToken)
            #expect(try await house.identity.authentication(bearer: tokens.accessToken) != nil)
        }
    }

    @Test func `a refresh token used twice ends the whole sign-in`() async throws {
        let house = try await TestHouse()
        let signIn = try await house.signIn()
        let next = try await house.identity.refresh(signIn.tokens.refreshToken)
        _ = try await house.identity.authentication(bearer: next.accessToken)
        #expect(await code { _ = try await house.identity.refresh(signIn.tokens.refreshToken) } == .credentialsInvalid)
        await house.expectEnded(signIn)
        #expect(await code { _ = try await house.identity.refresh(next.refreshToken) } == .credentialsInvalid)
        #expect(try await house.identity.authentication(bearer: next.accessToken) == nil)
        let kinds = try await house.identity.administration.auditEntries().map(\.kind)
        #expect(kinds.first == "signIn.refreshTokenReused")
    }

    @Test(arguments: 1...5)
    func `of 50 who show one refresh token at once one wins, then the family is dead`(round: Int) async throws {
        let house = try await TestHouse()
        let signIn = try await house.signIn()
        let pairs = await withTaskGroup(of: TokenPair?.self) { group in
            for _ in 0..<50 { group.addTask { try? await house.identity.refresh(signIn.tokens.refreshToken) } }
            return await group.reduce(into: []) { $0.append($1) }.compactMap { $0 }
        }
        #expect(pairs.count == 1)
        let winner = try #require(pairs.first)
        #expect(await code { _ = try await house.identity.refresh(winner.refreshToken) } == .credentialsInvalid)
        #expect(try await house.identity.authentication(bearer: winner.accessToken) == nil)
        await house.expectEnded(signIn)
    }

    @Test func `a note of the last use does not look like reuse`() async throws {
        let house = try await TestHouse()
        let signIn = try await house.signIn()
        _ = try await house.identity.authentication(sessionCookie: signIn.cookie)
        house.store.interfere { _ in try? await house.identity.maintain() }
        let next = try await house.identity.refresh(signIn.tokens.refreshToken)
        #expect(try await house.identity.authentication(bearer: next.accessToken) != nil)
    }

    @Test func `a forged token that names a session ends nothing`() async throws {
        let house = try await TestHouse()
        let signIn = try await house.signIn()
        let id = try #require(signIn.authentication.session)
        let secret = String(repeating: "A", count: 43)
        let forged = Secret("\(id).\(secret).\(secret)")
        #expect(await code { _ = try await house.identity.refresh(forged) } == .credentialsInvalid)
        #expect(try await house.identity.authentication(sessionCookie: signIn.cookie) != nil)
    }

    @Test func `a refresh token ends with its lifetime, and the family with its own`() async throws {
        let house = try await TestHouse {
            $0.tokens.refreshLifetime = .seconds(1000)
            $0.tokens.familyLifetime = .seconds(1500)
        }
        var tokens = try await house.signIn().tokens
        house.clock.advance(999)
        tokens = try await house.identity.refresh(tokens.refreshToken)
        house.clock.advance(501)
        #expect(await code { _ = try await house.identity.refresh(tokens.refreshToken) } == .credentialsInvalid)
    }

    @Test func `a disabled account refreshes nothing, and neither does it after it is enabled`() async throws {
        let house = try await TestHouse()
        let signIn = try await house.signIn()
        try await house.identity.administration.disable(house.alice.id, by: .system)
        await house.expectEnded(signIn)
        try await house.identity.administration.enable(house.alice.id, by: .system)
        await house.expectEnded(signIn)
        _ = try await house.signIn()
    }
}
