import AdapterKit
import Identity
import MemoryStore
import RecordStorage
import Testing

@Suite struct SignInTests {
    @Test func `a name and a password give a session and tokens that speak for the account`() async throws {
        let fixture = try await IdentityFixture()
        let signIn = try await fixture.signIn()
        let bySession = try await fixture.identity.authentication(sessionCookie: signIn.cookie)
        let byToken = try await fixture.identity.authentication(bearer: signIn.tokens.accessToken)
        for authentication in [signIn.authentication, try #require(bySession), try #require(byToken)] {
            #expect(authentication.principal.name == "Alice")
            #expect(authentication.principal.kind == .user)
            #expect(authentication.principal.roles == ["member"])
        }
        #expect(signIn.tokens.expiresIn == 900)
    }

    @Test(arguments: ["alice", "ALICE", "Alice"])
    func `a name is recognised in any case and shown as it was given`(typed: String) async throws {
        let fixture = try await IdentityFixture()
        #expect(try await fixture.signIn(typed).authentication.principal.name == "Alice")
    }

    @Test func `every sign-in has an id and secrets of its own`() async throws {
        let fixture = try await IdentityFixture()
        let (first, second) = (try await fixture.signIn(), try await fixture.signIn())
        #expect(first.authentication.session != second.authentication.session)
        #expect(first.cookie != second.cookie)
        #expect(first.tokens.refreshToken != second.tokens.refreshToken)
    }

    @Test func `a sign-in ends the session whose cookie came with it`() async throws {
        let fixture = try await IdentityFixture()
        let old = try await fixture.signIn()
        _ = try await fixture.identity.authentication(sessionCookie: old.cookie)
        _ = try await fixture.identity.signIn(
            "alice", IdentityFixture.password, from: IdentityFixture.home, replacing: old.cookie)
        #expect(try await fixture.identity.authentication(sessionCookie: old.cookie) == nil)
    }

    @Test func `a sign-in as another account ends the session whose cookie came with it, its tokens too`() async throws
    {
        let fixture = try await IdentityFixture()
        try await fixture.identity.administration.addAccount(
            NewAccount("carol", password: IdentityFixture.password), by: .system)
        let (first, other) = (try await fixture.signIn(), try await fixture.signIn())
        _ = try await fixture.identity.authentication(sessionCookie: first.cookie)
        let carol = try await fixture.identity.signIn(
            "carol", IdentityFixture.password, from: IdentityFixture.home, replacing: first.cookie)
        await fixture.expectEnded(first)
        for signIn in [other, carol] {
            #expect(try await fixture.identity.authentication(sessionCookie: signIn.cookie) != nil)
        }
    }

    @Test func `a cookie with a wrong secret ends no session`() async throws {
        let fixture = try await IdentityFixture()
        try await fixture.identity.administration.addAccount(
            NewAccount("carol", password: IdentityFixture.password), by: .system)
        let first = try await fixture.signIn()
        let parts = first.cookie.reveal().split(separator: ".")
        let forged = Secret("\(parts[0]).\(String(parts[1].reversed()))")
        _ = try await fixture.identity.signIn(
            "carol", IdentityFixture.password, from: IdentityFixture.home, replacing: forged)
        #expect(try await fixture.identity.authentication(sessionCookie: first.cookie) != nil)
    }

    @Test func `nothing in the store opens anything`() async throws {
        let fixture = try await IdentityFixture()
        let signIn = try await fixture.signIn()
        let secrets = [signIn.cookie, signIn.tokens.refreshToken, signIn.tokens.accessToken, IdentityFixture.password]
        for part in secrets.flatMap({ $0.reveal().split(separator: ".") }) where part.count > 32 {
            #expect(!fixture.store.inner.dump.contains(part))
        }
        #expect(!fixture.store.inner.dump.contains(IdentityFixture.password.reveal()))
    }

    @Test func `no secret is logged, audited or described`() async throws {
        let fixture = try await IdentityFixture()
        let canary = Secret("canary-7f3e")
        _ = await code { _ = try await fixture.signIn("alice", canary) }
        _ = await code { _ = try await fixture.signIn(canary.reveal(), canary) }
        _ = await code { _ = try await fixture.identity.refresh(canary) }
        _ = try await fixture.identity.authentication(bearer: canary)
        _ = try await fixture.identity.authentication(sessionCookie: canary)
        let signIn = try await fixture.signIn()
        let described = "\(signIn) \(fixture.log.text) \(fixture.store.inner.dump)"
        #expect(!described.contains(canary.reveal()))
        #expect(!"\(signIn)".contains(signIn.cookie.reveal()))
    }

    @Test func `an account proven before its password changed gets no session afterwards`() async throws {
        let fixture = try await IdentityFixture()
        fixture.store.interfere { _ in
            // Reached between the proof and the session's write.
            try? await raiseCredentialVersion(fixture)
        }
        #expect(await code { _ = try await fixture.signIn() } == .credentialsInvalid)
    }

    private func raiseCredentialVersion(_ fixture: IdentityFixture) async throws {
        let collection = CollectionID("identity", "accounts")
        let account = try #require(
            try await fixture.store.inner.record(RecordID(fixture.alice.id.text)!, in: collection, visible: nil))
        let change = RecordChange("accounts", .update(account.id, ["credentialVersion": 99]))
        _ = try await fixture.store.inner.write(
            .init([.init(adapter: "identity", change: change)], author: "somebody"))
    }
}

@Suite struct EnumerationTests {
    /// A wrong password, an unknown name, a text that is no name, a disabled account, an account without password.
    private func refusals(_ fixture: IdentityFixture) async throws -> [(name: String, password: Secret)] {
        let admin = fixture.identity.administration
        let disabled = try await admin.addAccount(
            NewAccount("disabled", password: IdentityFixture.password), by: .system)
        try await admin.disable(disabled.id, by: .system)
        try await admin.addAccount(NewAccount("program", password: nil), by: .system)
        let wrong = Secret("wrong password")
        return [
            ("alice", wrong), ("nobody", wrong), ("no such name!", wrong), ("", wrong),
            ("disabled", IdentityFixture.password),
            ("program", wrong), ("alice", Secret("")), ("alice", Secret(String(repeating: "x", count: 100_000))),
        ]
    }

    @Test func `every refusal reads the same`() async throws {
        let fixture = try await IdentityFixture()
        var answers: Set<String> = []
        for attempt in try await refusals(fixture) {
            do {
                _ = try await fixture.signIn(attempt.name, attempt.password)
                Issue.record("\(attempt.name) was let in")
            } catch { answers.insert("\(error)") }
        }
        #expect(answers.count == 1)
    }

    @Test func `every refusal costs the same reads and writes`() async throws {
        let fixture = try await IdentityFixture()
        var costs: Set<[WatchedStore.Operation]> = []
        for attempt in try await refusals(fixture) {
            // A refusal of the same name from the same address would be counted with the one before.
            fixture.clock.advance(61)
            _ = fixture.store.takeOperations()
            _ = await code { _ = try await fixture.signIn(attempt.name, attempt.password) }
            costs.insert(fixture.store.takeOperations())
        }
        #expect(costs.count == 1)
    }

    @Test func `every refusal needs a hash: where none can run, all are refused for that`() async throws {
        let fixture = try await IdentityFixture { $0.backoff.pair.free = 100 }
        let attempts = try await refusals(fixture)
        let full = try await Identity(
            store: fixture.store, configuration: .withoutHashing, clock: fixture.clock, log: .discarding)
        for attempt in attempts {
            let code = await code {
                _ = try await full.signIn(attempt.name, attempt.password, from: IdentityFixture.home)
            }
            #expect(code == .overloaded, "\(attempt.name)")
        }
    }
}

extension IdentityConfiguration {
    fileprivate static var withoutHashing: IdentityConfiguration {
        var configuration = IdentityConfiguration()
        configuration.passwords.hashingThreads = 0
        configuration.passwords.waitingHashes = 0
        return configuration
    }
}
