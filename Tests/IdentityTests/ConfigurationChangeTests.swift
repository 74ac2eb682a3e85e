import AdapterKit
import Identity
import Testing

/// Another configuration while identity works.
@Suite struct ConfigurationChangeTests {
    private func change(_ fixture: IdentityFixture, _ adjust: (inout IdentityConfiguration) -> Void) {
        var configuration = fixture.configuration
        adjust(&configuration)
        fixture.identity.use(configuration)
    }

    @Test func `what begins after a change lives as long as it says, and what there is keeps its end`() async throws {
        let fixture = try await IdentityFixture()
        let before = try await fixture.signIn()
        change(fixture) {
            $0.tokens.accessLifetime = .seconds(60)
            $0.tokens.refreshLifetime = .seconds(7_200)
            $0.sessions.lifetime = .seconds(3_600)
        }
        let (after, now) = (try await fixture.signIn(), fixture.clock.now())
        #expect(before.tokens.expiresIn == 900 && after.tokens.expiresIn == 60)
        #expect(after.cookieExpires.secondsSince1970 - now.secondsSince1970 == 3_600)
        fixture.clock.advance(61)
        #expect(try await fixture.identity.authentication(bearer: after.tokens.accessToken) == nil)
        #expect(try await fixture.identity.authentication(bearer: before.tokens.accessToken) != nil)
        fixture.clock.advance(3_600)
        #expect(try await fixture.identity.authentication(sessionCookie: after.cookie) == nil)
        #expect(try await fixture.identity.authentication(sessionCookie: before.cookie) != nil)
        fixture.clock.advance(3_600)
        let refused = await code { _ = try await fixture.identity.refresh(after.tokens.refreshToken) }
        #expect(refused == .credentialsInvalid)
        #expect(try await fixture.identity.refresh(before.tokens.refreshToken).expiresIn == 60)
    }

    @Test func `how long a cookie may be unused holds for those that are known already`() async throws {
        let fixture = try await IdentityFixture()
        let (used, unused) = (try await fixture.signIn(), try await fixture.signIn())
        for signIn in [used, unused] { _ = try await fixture.identity.authentication(sessionCookie: signIn.cookie) }
        change(fixture) { $0.sessions.idle = .seconds(100) }
        fixture.clock.advance(99)
        #expect(try await fixture.identity.authentication(sessionCookie: used.cookie) != nil)
        fixture.clock.advance(1)
        #expect(try await fixture.identity.authentication(sessionCookie: used.cookie) != nil)
        #expect(try await fixture.identity.authentication(sessionCookie: unused.cookie) == nil)
    }

    @Test func `a key that is replaced after a shorter lifetime has begun verifies what was issued before`()
        async throws
    {
        let fixture = try await IdentityFixture()
        let old = try await fixture.signIn().tokens.accessToken
        change(fixture) { $0.tokens.accessLifetime = .seconds(60) }
        try await fixture.identity.administration.rotateSigningKeys(by: .system)
        fixture.clock.advance(890)
        #expect(try await fixture.identity.authentication(bearer: old) != nil)
    }

    @Test func `HTTP Basic begins and ends`() async throws {
        let fixture = try await IdentityFixture()
        func isTaken() async throws -> Bool {
            try await fixture.identity.authentication(
                basic: "alice", IdentityFixture.password, from: IdentityFixture.home) != nil
        }
        #expect(try await isTaken())
        change(fixture) { $0.basic.enabled = false }
        #expect(try await !isTaken())
        change(fixture) { _ in }
        #expect(try await isTaken())
    }

    @Test func `the first wait after failed sign-ins is the new one`() async throws {
        let fixture = try await IdentityFixture()
        change(fixture) { $0.backoff.pair.first = .seconds(10) }
        for _ in 0..<6 { _ = await code { _ = try await fixture.signIn("alice", Secret("wrong password")) } }
        do {
            _ = try await fixture.signIn("alice", Secret("wrong password"))
            Issue.record("nothing was refused")
        } catch let error as PorticoError {
            #expect(error.code == .loginThrottled && error.retryAfter == 10)
        }
    }

    @Test func `more refused sign-ins have entries of their own once more may`() async throws {
        let fixture = try await IdentityFixture { $0.auditedRefusalsPerHour = 1 }
        func isRecorded(_ address: String) async throws -> Bool {
            let refused = await code {
                _ = try await fixture.signIn("nobody", Secret("wrong password"), from: ClientAddress(address))
            }
            #expect(refused == .credentialsInvalid)
            return try await fixture.identity.administration.auditEntries(limit: 1_000).contains {
                $0.address == address
            }
        }
        #expect(try await isRecorded("192.0.2.10"))
        #expect(try await !isRecorded("192.0.2.11"))
        change(fixture) { $0.auditedRefusalsPerHour = 2 }
        #expect(try await isRecorded("192.0.2.12"))
        #expect(try await !isRecorded("192.0.2.13"))
        change(fixture) { $0.auditedRefusalsPerHour = 1 }
        #expect(try await !isRecorded("192.0.2.14"))
    }

    @Test func `audit entries that are too old by the new configuration are removed`() async throws {
        let fixture = try await IdentityFixture()
        let oldest = try await fixture.identity.administration.auditEntries(limit: 1_000).last?.number
        fixture.clock.advance(10 * 86_400)
        try await fixture.identity.maintain()
        #expect(try await fixture.identity.administration.auditEntries(limit: 1_000).last?.number == oldest)
        change(fixture) { $0.auditRetention = .seconds(86_400) }
        _ = try await fixture.signIn()
        try await fixture.identity.maintain()
        let kept = try await fixture.identity.administration.auditEntries(limit: 1_000).last?.number
        #expect(try #require(kept) > (try #require(oldest)))
    }
}
