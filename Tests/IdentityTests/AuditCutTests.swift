import AdapterKit
import Identity
import Testing

@Suite struct AuditCutTests {
    private static let day = 86_400.0

    /// Twelve entries, a hundred days, and two more.
    private func agedHouse(keeping days: Double? = 30) async throws -> IdentityFixture {
        let fixture = try await IdentityFixture { configuration in
            configuration.auditRetention = days.map { .seconds($0 * Self.day) }
            // That nothing but time makes entries.
            configuration.tokens.keyLifetime = .seconds(10_000 * Self.day)
        }
        for _ in 0..<5 { try await fixture.identity.signOut(fixture.signIn().authentication) }
        fixture.clock.advance(100 * Self.day)
        try await fixture.identity.signOut(fixture.signIn().authentication)
        return fixture
    }

    private func verdict(_ fixture: IdentityFixture, anchor: AuditHead? = nil) async throws -> AuditVerdict {
        try await fixture.identity.administration.verifyAudit(anchor: anchor)
    }

    private func intactHead(_ fixture: IdentityFixture) async throws -> AuditHead {
        guard case .intact(let head) = try await verdict(fixture) else { throw PorticoError(.serverInternal, "broken") }
        return head
    }

    private func numbers(_ fixture: IdentityFixture) async throws -> [Int64] {
        try await fixture.identity.administration.auditEntries(limit: 100).map(\.number).reversed()
    }

    @Test func `old entries go, young ones stay, and what is left is intact`() async throws {
        let fixture = try await agedHouse()
        try await fixture.identity.maintain()
        #expect(try await numbers(fixture) == [13, 14, 15])
        let last = try await fixture.identity.administration.auditEntries(limit: 1)
        #expect(last.map(\.kind) == ["audit.cut"])
        #expect(try await intactHead(fixture).count == 15)
        #expect(try await fixture.restarted().administration.verifyAudit() == .intact(try await intactHead(fixture)))
    }

    @Test func `without a retention nothing goes`() async throws {
        let fixture = try await agedHouse(keeping: nil)
        try await fixture.identity.maintain()
        #expect(try await numbers(fixture) == Array(1...14))
    }

    @Test func `a second cut goes on where the first one ended`() async throws {
        let fixture = try await agedHouse()
        try await fixture.identity.maintain()
        fixture.clock.advance(100 * Self.day)
        _ = try await fixture.signIn()
        try await fixture.identity.maintain()
        #expect(try await numbers(fixture) == [16, 17])
        #expect(try await intactHead(fixture).count == 17)
    }

    @Test func `cuts wait until they are worth an entry of their own`() async throws {
        let fixture = try await agedHouse()
        try await fixture.identity.maintain()
        for _ in 0..<100 { try await fixture.identity.maintain() }
        #expect(try await numbers(fixture) == [13, 14, 15])
    }

    @Test func `a head from before stays good as long as an entry after it is there`() async throws {
        let fixture = try await agedHouse()
        let before = try await intactHead(fixture)
        try await fixture.identity.maintain()
        #expect(try await verdict(fixture, anchor: before) == .intact(try await intactHead(fixture)))
        fixture.clock.advance(100 * Self.day)
        _ = try await fixture.signIn()
        try await fixture.identity.maintain()
        #expect(try await verdict(fixture, anchor: before) == .broken(number: before.count, .headRemoved))
    }

    @Test func `further entries removed behind its back are found, with the base moved along or not`() async throws {
        let fixture = try await agedHouse()
        try await fixture.identity.maintain()
        let first = try await fixture.store.inner.all("auditEntries")[0]
        try await fixture.store.inner.tamper(id(13), in: "auditEntries") { _ in nil }
        #expect(try await verdict(fixture) == .broken(number: 13, .missing))
        try await fixture.store.inner.tamper("base", in: "auditHead") { _ in
            ["id": "base", "count": 13, "digest": first["digest"]]
        }
        #expect(try await verdict(fixture) == .broken(number: 13, .baseAltered))
    }

    @Test func `a base that was taken away or changed is found`() async throws {
        let fixture = try await agedHouse()
        try await fixture.identity.maintain()
        try await fixture.store.inner.tamper("base", in: "auditHead") { fields in
            ["id": "base", "count": fields["count"] ?? 0, "digest": .data([UInt8](repeating: 7, count: 32))]
        }
        #expect(try await verdict(fixture) == .broken(number: 13, .altered))
        try await fixture.store.inner.tamper("base", in: "auditHead") { _ in nil }
        #expect(try await verdict(fixture) == .broken(number: 1, .missing))
    }

    private func id(_ number: Int) -> RecordID {
        let digits = String(number)
        return RecordID(unchecked: String(repeating: "0", count: 19 - digits.count) + digits)
    }
}
