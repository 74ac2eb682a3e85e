import AdapterKit
import Crypto
import Identity
import Testing

/// The state machine alone.
@Suite struct VerifiedCredentialsTests {
    private let now = WireDate(secondsSince1970: 0)
    private let later = WireDate(secondsSince1970: 1000)
    private let alice: AccountID = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
    private let bob: AccountID = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

    private func key(_ name: String) -> CredentialKey {
        CredentialKey(.accessToken, [Secret(name)], keyed: HMAC(key: SymmetricKey(data: [1])))
    }

    private func authentication(_ account: AccountID) -> Authentication {
        let owner = Account(
            id: account, name: "x", displayName: "x", roles: [], attributes: [:], state: .active, created: now,
            lastSignIn: nil, password: nil, credentialVersion: 1, revision: Revision(1))
        return Authentication(owner, owner.principal(), method: .accessToken, expires: nil)
    }

    private func ticket(_ credentials: inout VerifiedCredentials, _ name: String) throws -> VerifiedCredentials.Ticket {
        guard case .unknown(let ticket) = credentials.find(key(name), now: now) else {
            throw PorticoError(.serverInternal, "It is known already.")
        }
        return ticket
    }

    private func isKnown(_ credentials: inout VerifiedCredentials, _ name: String) -> Bool {
        if case .known = credentials.find(key(name), now: now) { true } else { false }
    }

    @Test func `what was read before a revocation is not remembered after it`() throws {
        var credentials = VerifiedCredentials(capacity: 10, idle: .seconds(100))
        let early = try ticket(&credentials, "a")
        credentials.revoke(alice)
        credentials.admit(key("a"), authentication(alice), until: later, ticket: early, now: now)
        #expect(!isKnown(&credentials, "a"))
        let late = try ticket(&credentials, "a")
        credentials.admit(key("a"), authentication(alice), until: later, ticket: late, now: now)
        #expect(isKnown(&credentials, "a"))
    }

    @Test func `what was read before everything was forgotten is not remembered after it`() throws {
        var credentials = VerifiedCredentials(capacity: 10, idle: .seconds(100))
        let early = try ticket(&credentials, "a")
        let other = try ticket(&credentials, "b")
        credentials.admit(key("b"), authentication(bob), until: later, ticket: other, now: now)
        credentials.forgetAll()
        #expect(!isKnown(&credentials, "b"))
        credentials.admit(key("a"), authentication(alice), until: later, ticket: early, now: now)
        #expect(!isKnown(&credentials, "a"))
        let late = try ticket(&credentials, "a")
        credentials.admit(key("a"), authentication(alice), until: later, ticket: late, now: now)
        #expect(isKnown(&credentials, "a"))
    }

    @Test func `a credential that is verified is a miss, and one that memory knows is a hit, waited for or not`()
        async throws
    {
        let fixture = try await IdentityFixture()
        let identity = fixture.identity
        let token = try await fixture.signIn().tokens.accessToken
        let before = identity.credentialFigures
        func figures() -> [Int] {
            let now = identity.credentialFigures
            return [Int(now.hits - before.hits), Int(now.misses - before.misses), now.entries - before.entries]
        }
        #expect(identity.knownAuthentication(identity.key(bearer: token)) == nil)
        #expect(figures() == [0, 0, 0])
        #expect(try await identity.authentication(bearer: token) != nil)
        #expect(figures() == [0, 1, 1])
        #expect(try await identity.authentication(bearer: token) != nil)
        #expect(figures() == [1, 1, 1])
        #expect(identity.knownAuthentication(identity.key(bearer: token)) != nil)
        #expect(figures() == [2, 1, 1])
    }

    @Test func `a revocation takes the account's credentials and leaves the others`() throws {
        var credentials = VerifiedCredentials(capacity: 10, idle: .seconds(100))
        for (name, account) in [("a", alice), ("b", alice), ("c", bob)] {
            let ticket = try ticket(&credentials, name)
            credentials.admit(key(name), authentication(account), until: later, ticket: ticket, now: now)
        }
        credentials.revoke(alice)
        #expect(["a", "b", "c"].map { isKnown(&credentials, $0) } == [false, false, true])
    }

    @Test func `there are never more than there is room for`() throws {
        var credentials = VerifiedCredentials(capacity: 100, idle: .seconds(100))
        for number in 0..<1000 {
            let ticket = try ticket(&credentials, "\(number)")
            credentials.admit(key("\(number)"), authentication(alice), until: later, ticket: ticket, now: now)
            #expect(isKnown(&credentials, "\(number)"))
        }
        let known = (0..<1000).filter { isKnown(&credentials, "\($0)") }.count
        #expect((80...100).contains(known))
    }

    @Test func `where some have ended, they alone make room`() throws {
        var credentials = VerifiedCredentials(capacity: 100, idle: .seconds(100))
        let soon = WireDate(secondsSince1970: 10)
        for number in 0..<100 {
            let ticket = try ticket(&credentials, "\(number)")
            credentials.admit(
                key("\(number)"), authentication(alice), until: number < 20 ? soon : later, ticket: ticket, now: now)
        }
        let ticket = try ticket(&credentials, "new")
        credentials.admit(key("new"), authentication(bob), until: later, ticket: ticket, now: soon)
        let known = (20..<100).filter { isKnown(&credentials, "\($0)") }.count
        #expect(known == 80 && isKnown(&credentials, "new"))
    }

    @Test func `credentials of two kinds with one text are two`() {
        let key = HMAC<SHA256>(key: SymmetricKey(data: [1]))
        let kinds = Authentication.Method.allCases.map { CredentialKey($0, [Secret("x")], keyed: key) }
        #expect(Set(kinds).count == kinds.count)
        #expect(
            CredentialKey(.basic, [Secret("ab"), Secret("c")], keyed: key)
                != CredentialKey(.basic, [Secret("a"), Secret("bc")], keyed: key))
    }
}
