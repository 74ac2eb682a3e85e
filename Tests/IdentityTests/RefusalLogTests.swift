import AdapterKit
import Identity
import Testing
import UpstreamStandIn

/// What callers without an account can make the audit log grow by.
@Suite struct RefusalLogTests {
    private func entries(_ fixture: IdentityFixture) async throws -> [AuditEntry] {
        var all: [AuditEntry] = []
        while true {
            let page = try await fixture.identity.administration.auditEntries(before: all.last?.number, limit: 1000)
            if page.isEmpty { return all.filter { $0.kind == "signIn.refused" }.reversed() }
            all += page
        }
    }

    private func expectIntact(_ fixture: IdentityFixture) async throws {
        guard case .intact = try await fixture.identity.administration.verifyAudit() else {
            Issue.record("the chain is broken")
            return
        }
    }

    private func callback(
        _ fixture: IdentityFixture, _ provider: ProviderName = "idp", from address: ClientAddress = IdentityFixture.home
    ) async -> ErrorCode? {
        await code {
            _ = try await fixture.identity.finishSignIn(
                with: provider, BrowserReturn(code: Secret("x"), state: Secret("y"), issuer: nil), cookie: Secret(""),
                from: address)
        }
    }

    @Test func `a provider that is none is not found and leaves no entry`() async throws {
        try await withProvider { _, fixture in
            for name in ["nobody", "local", "corp"] as [ProviderName] {
                #expect(await callback(fixture, name) == .routeNotFound)
            }
            let found = try await entries(fixture)
            #expect(found.isEmpty)
        }
    }

    @Test func `answers without a pending sign-in are one entry a minute and address, with their number`() async throws
    {
        try await withProvider { stand, fixture in
            let elsewhere = ClientAddress("198.51.100.1")
            for _ in 0..<1000 { #expect(await callback(fixture) == .credentialsInvalid) }
            _ = await callback(fixture, from: elsewhere)
            #expect(try await entries(fixture).map(\.detail) == ["idp", "idp"])
            fixture.clock.advance(60)
            try await fixture.identity.maintain()
            #expect(try await entries(fixture).map(\.detail) == ["idp", "idp", "idp, 999 times"])
            fixture.clock.advance(60)
            try await fixture.identity.maintain()
            #expect(try await entries(fixture).count == 3)
            #expect(stand.server.requests.isEmpty)
            try await expectIntact(fixture)
        }
    }

    @Test func `wrong passwords of many names from many addresses fill no log`() async throws {
        let fixture = try await IdentityFixture { $0.auditedRefusalsPerHour = 60 }
        for minute in 0..<10 {
            for number in 0..<50 {
                let address = ClientAddress("10.\(minute).0.\(number)")
                _ = await code { _ = try await fixture.signIn("n\(minute)x\(number)", Secret("wrong"), from: address) }
                _ = try? await fixture.identity.authentication(basic: "alice", Secret("wrong"), from: address)
            }
            fixture.clock.advance(60)
            try await fixture.identity.maintain()
        }
        let found = try await entries(fixture)
        #expect(found.count <= 60 + 10 + 11)
        // Every refusal is an entry or in a number.
        let attempts = found.reduce(0) { sum, entry in
            sum + (entry.detail.split(separator: " ").compactMap { Int($0) }.first ?? 1)
        }
        #expect(attempts > 500)
        #expect(found.contains { $0.subject == fixture.alice.id.text })
        try await expectIntact(fixture)
    }

    /// Generated: whatever callers do, the bound holds and no refusal is lost.
    @Test(arguments: 0..<20) func `the bound holds for any sequence, and every refusal is counted`(seed: Int)
        async throws
    {
        var random = SeededRandom(seed: UInt64(seed))
        let perHour = Int.random(in: 1...50, using: &random)
        let fixture = try await IdentityFixture {
            $0.auditedRefusalsPerHour = perHour
            $0.backoff.pair.free = .max
            $0.backoff.account.free = .max
            $0.backoff.address.free = .max
        }
        var asked = 0
        var seconds = 0.0
        for _ in 0..<400 {
            let address = ClientAddress("10.0.0.\(Int.random(in: 0..<20, using: &random))")
            let name = ["alice", "nobody", "x\(Int.random(in: 0..<1000, using: &random))"].randomElement(using: &random)
            #expect(
                await code { _ = try await fixture.signIn(name ?? "", Secret("wrong"), from: address) }
                    == .credentialsInvalid)
            asked += 1
            if Int.random(in: 0..<4, using: &random) == 0 {
                let pause = Double.random(in: 0...90, using: &random)
                fixture.clock.advance(pause)
                seconds += pause
                try await fixture.identity.maintain()
            }
        }
        for _ in 0..<3 {
            fixture.clock.advance(3600)
            try await fixture.identity.maintain()
        }
        let found = try await entries(fixture)
        let minutes = Int(seconds / 60) + 4
        #expect(found.count <= perHour + Int((seconds + 3 * 3600) / 3600 * Double(perHour)) + 1 + minutes)
        let counted = found.reduce(0) { sum, entry in
            sum + (entry.detail.split(separator: " ").compactMap { Int($0) }.first ?? 1)
        }
        #expect(counted == asked)
        try await expectIntact(fixture)
    }
}
