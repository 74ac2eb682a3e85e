import AdapterKit
import Identity
import Testing

@Suite struct SessionTests {
    @Test func `a cookie works for its lifetime and no longer`() async throws {
        let fixture = try await IdentityFixture { $0.sessions.idle = .seconds(1_000_000) }
        let signIn = try await fixture.signIn()
        fixture.clock.advance(8 * 3600 - 1)
        #expect(try await fixture.identity.authentication(sessionCookie: signIn.cookie) != nil)
        fixture.clock.advance(1)
        #expect(try await fixture.identity.authentication(sessionCookie: signIn.cookie) == nil)
    }

    @Test func `a cookie that is not used ends early, one that is used does not`() async throws {
        let fixture = try await IdentityFixture { $0.sessions.idle = .seconds(600) }
        let (used, idle) = (try await fixture.signIn(), try await fixture.signIn())
        for _ in 0..<10 {
            fixture.clock.advance(500)
            #expect(try await fixture.identity.authentication(sessionCookie: used.cookie) != nil)
            try await fixture.identity.maintain()
        }
        #expect(try await fixture.identity.authentication(sessionCookie: idle.cookie) == nil)
    }

    @Test func `the last use is known to the next process`() async throws {
        let fixture = try await IdentityFixture { $0.sessions.idle = .seconds(600) }
        let signIn = try await fixture.signIn()
        fixture.clock.advance(500)
        _ = try await fixture.identity.authentication(sessionCookie: signIn.cookie)
        try await fixture.identity.maintain()
        fixture.clock.advance(500)
        #expect(try await fixture.restarted().authentication(sessionCookie: signIn.cookie) != nil)
    }

    @Test func `the last use of a session is written down though others ended meanwhile`() async throws {
        let fixture = try await IdentityFixture { $0.sessions.idle = .seconds(600) }
        let (going, staying, alone) = (
            try await fixture.signIn(), try await fixture.signIn(), try await fixture.signIn()
        )
        func use(_ signIn: SignIn) async throws {
            #expect(try await fixture.identity.authentication(sessionCookie: signIn.cookie) != nil)
        }
        fixture.clock.advance(500)
        for signIn in [going, staying, alone] { try await use(signIn) }
        try await fixture.identity.signOut(going.authentication)
        try await fixture.identity.maintain()
        fixture.clock.advance(500)
        #expect(try await fixture.restarted().authentication(sessionCookie: staying.cookie) != nil)
        try await use(alone)
        try await fixture.identity.signOut(alone.authentication)
        try await fixture.identity.maintain()
    }

    @Test func `a sign-out ends the cookie, the access token and the refresh token at once`() async throws {
        let fixture = try await IdentityFixture()
        let signIn = try await fixture.signIn()
        let byToken = try await fixture.identity.authentication(bearer: signIn.tokens.accessToken)
        _ = try await fixture.identity.authentication(sessionCookie: signIn.cookie)
        try await fixture.identity.signOut(try #require(byToken))
        await fixture.expectEnded(signIn)
    }

    @Test func `a sign-out everywhere ends every sign-in of the account and no other's`() async throws {
        let fixture = try await IdentityFixture()
        try await fixture.identity.administration.addAccount(
            NewAccount("bob", password: IdentityFixture.password), by: .system)
        let (first, second, other) = (
            try await fixture.signIn(), try await fixture.signIn(), try await fixture.signIn("bob")
        )
        _ = try await fixture.identity.authentication(sessionCookie: second.cookie)
        try await fixture.identity.signOutEverywhere(first.authentication)
        await fixture.expectEnded(first)
        await fixture.expectEnded(second)
        #expect(try await fixture.identity.authentication(sessionCookie: other.cookie) != nil)
    }

    /// Devices to push to and sign-ins at the console name the version of the credentials that they came with.
    @Test(arguments: [true, false])
    func `a sign-out everywhere ends what goes on because of a sign-in, without any session too`(byOperator: Bool)
        async throws
    {
        let fixture = try await IdentityFixture()
        let (identity, alice) = (fixture.identity, fixture.alice.id)
        let (proof, _) = try await identity.proveAccount("alice", IdentityFixture.password, from: .unknown)
        let before = try #require(try await identity.accounts.account(named: "alice")).credentialVersion
        if byOperator {
            #expect(try await identity.administration.revokeSessions(of: alice, by: .system) == 0)
        } else {
            let signIn = try await fixture.signIn()
            try await identity.signOutEverywhere(signIn.authentication)
        }
        #expect(try await identity.holder(of: proof) == nil)
        let after = try #require(try await identity.accounts.account(named: "alice")).credentialVersion
        #expect(after > before)
    }

    @Test func `a sign-in keeps the app's own name, bounded and printable`() async throws {
        let fixture = try await IdentityFixture()
        for (sent, kept) in [
            ("Expenses/4.1 (iPhone)", "Expenses/4.1 (iPhone)"), ("\u{1B}[31mA\u{0}\r\nB\u{E9}", "[31mAB"), ("", nil),
            ("  ", nil),
            (String(repeating: "x", count: 5_000), String(repeating: "x", count: 200)),
        ] as [(String, String?)] {
            let signIn = try await fixture.identity.signIn(
                "alice", IdentityFixture.password, from: .unknown, by: ClientAgent(sent))
            let session = try #require(signIn.authentication.session)
            let sessions = try await fixture.identity.administration.sessions(of: fixture.alice.id)
            #expect(sessions.first { $0.id == session }?.agent?.text == kept)
        }
    }

    @Test func `an operator's revocation ends one sign-in at once`() async throws {
        let fixture = try await IdentityFixture()
        let (first, second) = (try await fixture.signIn(), try await fixture.signIn())
        _ = try await fixture.identity.authentication(sessionCookie: first.cookie)
        let session = try #require(first.authentication.session)
        try await fixture.identity.administration.revokeSession(session, of: fixture.alice.id, by: .system)
        await fixture.expectEnded(first)
        #expect(try await fixture.identity.authentication(sessionCookie: second.cookie) != nil)
        let again = await code {
            try await fixture.identity.administration.revokeSession(session, of: fixture.alice.id, by: .system)
        }
        #expect(again == .recordNotFound)
    }

    @Test func `one session more than an account may have ends the oldest`() async throws {
        let fixture = try await IdentityFixture { $0.sessions.perAccount = 3 }
        var signIns: [SignIn] = []
        for _ in 0..<4 {
            signIns.append(try await fixture.signIn())
            fixture.clock.advance(1)
        }
        await fixture.expectEnded(signIns[0])
        #expect(try await fixture.identity.administration.sessions(of: fixture.alice.id).count == 3)
        #expect(try await fixture.identity.authentication(sessionCookie: signIns[1].cookie) != nil)
    }

    @Test func `a call with a verified credential does not touch the store`() async throws {
        let fixture = try await IdentityFixture()
        let signIn = try await fixture.signIn()
        for _ in 0..<2 {
            _ = try await fixture.identity.authentication(sessionCookie: signIn.cookie)
            _ = try await fixture.identity.authentication(bearer: signIn.tokens.accessToken)
        }
        _ = fixture.store.takeOperations()
        #expect(try await fixture.identity.authentication(sessionCookie: signIn.cookie) != nil)
        #expect(try await fixture.identity.authentication(bearer: signIn.tokens.accessToken) != nil)
        #expect(fixture.store.takeOperations() == [])
    }

    @Test(arguments: ["", ".", "x", "x.y", "00000000000000000000000000000000.", String(repeating: "a", count: 5000)])
    func `a cookie that is none is no credential`(text: String) async throws {
        let fixture = try await IdentityFixture()
        #expect(try await fixture.identity.authentication(sessionCookie: Secret(text)) == nil)
    }

    @Test func `the id of a session is no credential`() async throws {
        let fixture = try await IdentityFixture()
        let signIn = try await fixture.signIn()
        let id = try #require(signIn.authentication.session)
        let forged = Secret("\(id).\(String(repeating: "A", count: 43))")
        #expect(try await fixture.identity.authentication(sessionCookie: forged) == nil)
        #expect(try await fixture.identity.authentication(sessionCookie: signIn.cookie) != nil)
    }

    @Test func `sessions that ended are removed`() async throws {
        let fixture = try await IdentityFixture()
        _ = try await fixture.signIn()
        fixture.clock.advance(31 * 86_400)
        try await fixture.identity.maintain()
        #expect(try await fixture.store.inner.all("sessions").isEmpty)
    }

    @Test func `roles that change count from the next call on, without a new sign-in`() async throws {
        let fixture = try await IdentityFixture()
        let signIn = try await fixture.signIn()
        _ = try await fixture.identity.authentication(bearer: signIn.tokens.accessToken)
        try await fixture.identity.administration.setRoles(["admin"], of: fixture.alice.id, by: .system)
        let after = try await fixture.identity.authentication(bearer: signIn.tokens.accessToken)
        #expect(after?.principal.roles == ["admin"])
    }
}

extension IdentityFixture {
    /// Another process over the same store.
    func restarted() async throws -> Identity {
        try await Identity(
            store: store, configuration: configuration, clock: clock, randomness: SeededRandomness(2), log: log.log)
    }

    func expectEnded(_ signIn: SignIn, sourceLocation: SourceLocation = #_sourceLocation) async {
        let byCookie = try? await identity.authentication(sessionCookie: signIn.cookie)
        let byToken = try? await identity.authentication(bearer: signIn.tokens.accessToken)
        #expect(byCookie == nil && byToken == nil, sourceLocation: sourceLocation)
        let refresh = await code { _ = try await identity.refresh(signIn.tokens.refreshToken) }
        #expect(refresh == .credentialsInvalid, sourceLocation: sourceLocation)
    }
}
