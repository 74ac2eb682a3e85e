import AdapterKit
import Identity
import Testing

@Suite struct BasicTests {
    private func basic(
        _ fixture: IdentityFixture, _ name: String = "alice", _ password: Secret = IdentityFixture.password
    )
        async throws -> Authentication?
    {
        try await fixture.identity.authentication(basic: name, password, from: IdentityFixture.home)
    }

    @Test func `a name and a password speak for the account, without a session`() async throws {
        let fixture = try await IdentityFixture()
        let authentication = try #require(try await basic(fixture))
        #expect(authentication.principal.name == "Alice")
        #expect(authentication.method == .basic)
        #expect(authentication.session == nil)
        #expect(try await fixture.identity.administration.sessions(of: fixture.alice.id).isEmpty)
    }

    @Test func `a wrong password is no credential, and counts as a failure`() async throws {
        let fixture = try await IdentityFixture()
        for _ in 0..<6 { #expect(try await basic(fixture, "alice", Secret("wrong password")) == nil) }
        #expect(await code { _ = try await basic(fixture, "alice", Secret("wrong password")) } == .loginThrottled)
    }

    @Test func `a pair that was verified is believed for a while without store or hash`() async throws {
        let fixture = try await IdentityFixture()
        _ = try await basic(fixture)
        _ = fixture.store.takeOperations()
        fixture.clock.advance(299)
        #expect(try await basic(fixture, "ALICE") != nil)
        #expect(fixture.store.takeOperations() == [])
        fixture.clock.advance(1)
        #expect(try await basic(fixture) != nil)
        #expect(fixture.store.takeOperations() != [])
    }

    @Test func `on a full store a right pair is believed and a wrong one is none, and both are recorded later`()
        async throws
    {
        let fixture = try await IdentityFixture()
        let admin = fixture.identity.administration
        let before = try await admin.auditEntries(limit: 1_000).count
        fixture.store.failWrites(PorticoError(.storeFull, "The disk is full."))
        #expect(try await basic(fixture, "alice", Secret("wrong password")) == nil)
        let accepted = fixture.clock.now()
        #expect(try await basic(fixture) != nil)
        fixture.clock.advance(3600)
        try? await fixture.identity.maintain()
        #expect(try await admin.auditEntries(limit: 1_000).count == before)
        fixture.store.failWrites(nil)
        try await fixture.identity.maintain()
        let entries = try await admin.auditEntries(limit: 2)
        #expect(Set(entries.map(\.kind)) == ["signIn.accepted", "signIn.refused"])
        #expect(entries.contains { $0.detail == "basic, at \(accepted.rfc3339 ?? "")" })
    }

    @Test func `name and password are not run together`() async throws {
        let fixture = try await IdentityFixture()
        try await fixture.identity.administration.addAccount(
            NewAccount("ab", password: Secret("cdefghijkl")), by: .system)
        #expect(try await basic(fixture, "ab", Secret("cdefghijkl")) != nil)
        #expect(try await basic(fixture, "abc", Secret("defghijkl")) == nil)
    }

    @Test func `a pair is not believed once the password, the state or the roles have changed`() async throws {
        let fixture = try await IdentityFixture()
        let admin = fixture.identity.administration
        _ = try await basic(fixture)
        try await admin.setRoles(["admin"], of: fixture.alice.id, by: .system)
        #expect(try await basic(fixture)?.principal.roles == ["admin"])
        try await admin.setPassword(Secret("another password"), of: fixture.alice.id, by: .system)
        #expect(try await basic(fixture) == nil)
        #expect(try await basic(fixture, "alice", Secret("another password")) != nil)
        try await admin.disable(fixture.alice.id, by: .system)
        #expect(try await basic(fixture, "alice", Secret("another password")) == nil)
    }

    @Test func `where Basic is off no caller gets in by it`() async throws {
        let fixture = try await IdentityFixture { $0.basic.enabled = false }
        #expect(try await basic(fixture) == nil)
    }
}

@Suite struct APIKeyTests {
    @Test func `a key acts as its account's program, with the roles that both have`() async throws {
        let fixture = try await IdentityFixture()
        let admin = fixture.identity.administration
        let (key, credential) = try await admin.createAPIKey(
            for: fixture.alice.id, title: "script", roles: ["member", "admin"], by: .system)
        let authentication = try #require(try await fixture.identity.authentication(bearer: credential))
        #expect(authentication.principal.kind == .program)
        #expect(authentication.principal.name == "Alice")
        #expect(authentication.principal.roles == ["member"])
        #expect(authentication.apiKey == key.id)
        try await admin.setRoles(["member", "admin", "more"], of: fixture.alice.id, by: .system)
        let after = try await fixture.identity.authentication(bearer: credential)
        #expect(after?.principal.roles == ["member", "admin"])
    }

    @Test func `a key reaches the adapters that it was made for, reading where it may only read`() async throws {
        let fixture = try await IdentityFixture()
        let (_, credential) = try await fixture.identity.administration.createAPIKey(
            for: fixture.alice.id, title: "reader", scope: CredentialScope(adapters: ["feeds"], mayWrite: false),
            by: .system)
        let scope = try #require(try await fixture.identity.authentication(bearer: credential)).scope
        #expect(scope.allows(.reads, in: "feeds"))
        #expect(!scope.allows(.writes, in: "feeds"))
        #expect(!scope.allows(.reads, in: "chat"))
    }

    @Test func `a key ends when it is revoked, when it expires, and with its account`() async throws {
        let fixture = try await IdentityFixture()
        let admin = fixture.identity.administration
        let expires = WireDate(secondsSince1970: fixture.clock.now().secondsSince1970 + 100)
        let (revoked, first) = try await admin.createAPIKey(for: fixture.alice.id, title: "a", by: .system)
        let (_, second) = try await admin.createAPIKey(for: fixture.alice.id, title: "b", expires: expires, by: .system)
        let (_, third) = try await admin.createAPIKey(for: fixture.alice.id, title: "c", by: .system)
        for key in [first, second, third] { #expect(try await fixture.identity.authentication(bearer: key) != nil) }
        try await admin.revokeAPIKey(revoked.id, of: fixture.alice.id, by: .system)
        #expect(try await fixture.identity.authentication(bearer: first) == nil)
        fixture.clock.advance(100)
        #expect(try await fixture.identity.authentication(bearer: second) == nil)
        try await admin.disable(fixture.alice.id, by: .system)
        #expect(try await fixture.identity.authentication(bearer: third) == nil)
        let again = await code { try await admin.revokeAPIKey(revoked.id, of: fixture.alice.id, by: .system) }
        #expect(again == .recordNotFound)
    }

    @Test func `the id that lists show does not open anything, nor does another key's secret`() async throws {
        let fixture = try await IdentityFixture()
        let admin = fixture.identity.administration
        let (first, one) = try await admin.createAPIKey(for: fixture.alice.id, title: "a", by: .system)
        let (_, two) = try await admin.createAPIKey(for: fixture.alice.id, title: "b", by: .system)
        #expect(one.reveal().hasPrefix("pk_\(first.id)_"))
        let crossed = Secret("pk_\(first.id)_\(two.reveal().suffix(43))")
        #expect(try await fixture.identity.authentication(bearer: crossed) == nil)
        #expect(try await fixture.identity.authentication(bearer: Secret("pk_\(first.id)_")) == nil)
        #expect(!fixture.store.inner.dump.contains(one.reveal().suffix(43)))
    }
}

@Suite struct CSRFTests {
    @Test func `a token holds for the session that it was issued for and for no other`() async throws {
        let fixture = try await IdentityFixture()
        let (mine, other) = (try await fixture.signIn().cookie, try await fixture.signIn().cookie)
        let token = fixture.identity.csrfToken(forSessionCookie: mine)
        #expect(fixture.identity.isValid(csrfToken: token, forSessionCookie: mine))
        #expect(!fixture.identity.isValid(csrfToken: token, forSessionCookie: other))
        #expect(try await fixture.restarted().isValid(csrfToken: token, forSessionCookie: mine))
    }

    @Test func `a token of a caller without a session holds for that caller alone, as long as the process runs`()
        async throws
    {
        let fixture = try await IdentityFixture()
        let mine = CSRFTokenBinding.principal(Principal(kind: .user, id: "1", name: "ann"))
        let other = CSRFTokenBinding.principal(Principal(kind: .user, id: "2", name: "ann"))
        let token = fixture.identity.csrfToken(for: mine)
        #expect(fixture.identity.isValid(csrfToken: token, for: mine))
        #expect(!fixture.identity.isValid(csrfToken: token, for: other))
        #expect(!fixture.identity.isValid(csrfToken: token, for: .session(Secret("1"))))
        #expect(try await !fixture.restarted().isValid(csrfToken: token, for: mine))
    }

    @Test func `no two tokens are alike, and none shows the cookie`() async throws {
        let fixture = try await IdentityFixture()
        let cookie = try await fixture.signIn().cookie
        let tokens = Set((0..<10).map { _ in fixture.identity.csrfToken(forSessionCookie: cookie).reveal() })
        #expect(tokens.count == 10)
        #expect(tokens.allSatisfy { !cookie.reveal().contains($0.prefix(10)) })
    }

    @Test func `a token with any character changed is refused`() async throws {
        let fixture = try await IdentityFixture()
        let cookie = try await fixture.signIn().cookie
        let text = Array(fixture.identity.csrfToken(forSessionCookie: cookie).reveal())
        for index in text.indices.dropLast() where text[index] != "." {
            var changed = text
            changed[index] = changed[index] == "A" ? "z" : "A"
            // The last letter of either half holds unused bits.
            if text[index + 1] == "." { continue }
            #expect(!fixture.identity.isValid(csrfToken: Secret(String(changed)), forSessionCookie: cookie))
        }
    }

    @Test(arguments: ["", ".", "Required", "Fetch", "a.b", "a.b.c", String(repeating: "A", count: 10_000)])
    func `what is no token is refused`(text: String) async throws {
        let fixture = try await IdentityFixture()
        let cookie = try await fixture.signIn().cookie
        #expect(!fixture.identity.isValid(csrfToken: Secret(text), forSessionCookie: cookie))
    }
}
