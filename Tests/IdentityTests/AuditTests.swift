import AdapterKit
import Identity
import Testing

@Suite struct AuditTests {
    /// A house with a dozen entries.
    private func busyHouse() async throws -> IdentityFixture {
        let fixture = try await IdentityFixture()
        for _ in 0..<4 { try await fixture.identity.signOut(fixture.signIn().authentication) }
        _ = await code { _ = try await fixture.signIn("alice", Secret("wrong password")) }
        return fixture
    }

    private func verdict(_ fixture: IdentityFixture) async throws -> AuditVerdict {
        try await fixture.identity.administration.verifyAudit()
    }

    @Test func `sign-ins, refusals and administration are recorded, by whom and from where`() async throws {
        let fixture = try await busyHouse()
        let entries = try await fixture.identity.administration.auditEntries(limit: 3)
        #expect(entries.map(\.kind) == ["signIn.refused", "signIn.ended", "signIn.accepted"])
        #expect(entries[0].subject == fixture.alice.id.text)
        #expect(entries[0].actor == "")
        #expect(entries[1].actor == fixture.alice.id.text)
        #expect(entries[2].address == "192.0.2.1")
        #expect(entries[2].milliseconds == 1_800_000_000_000)
        let earlier = try await fixture.identity.administration.auditEntries(before: 3)
        #expect(earlier.map(\.kind) == ["account.added", "signingKey.rotated"])
    }

    @Test func `entries are found by kind, person and time, page by page`() async throws {
        let fixture = try await busyHouse()
        let administration = fixture.identity.administration
        func found(_ selection: AuditSelection, before: Int64? = nil, limit: Int = 100) async throws -> [Int64] {
            try await administration.auditEntries(of: selection, before: before, limit: limit).map(\.number)
        }
        let accepted = AuditSelection(kind: "signIn.accepted")
        let all = try await found(accepted)
        #expect(all.count == 4)
        let first = try await found(accepted, limit: 3)
        #expect(try await first + found(accepted, before: first.last, limit: 3) == all)
        let alice = try await administration.auditEntries(of: AuditSelection(people: [fixture.alice.id.text]))
        #expect(alice.contains { $0.kind == "signIn.refused" } && alice.contains { $0.kind == "signIn.ended" })
        #expect(try await found(AuditSelection(people: ["nobody"])) == [])
        let start = WireDate(secondsSince1970: 1_800_000_000)
        #expect(try await found(AuditSelection(since: start)).count == 11)
        #expect(try await found(AuditSelection(until: start)) == [])
    }

    @Test func `an untouched log is intact`() async throws {
        let fixture = try await busyHouse()
        guard case .intact(let head) = try await verdict(fixture) else {
            Issue.record("it is not")
            return
        }
        #expect(head.count == 11)
        #expect(try await fixture.restarted().administration.verifyAudit() == .intact(head))
    }

    @Test(arguments: ["milliseconds", "kind", "actor", "subject", "address", "detail", "digest", "number"])
    func `a field flipped in any entry is found there`(field: String) async throws {
        for number in 1...11 {
            let fixture = try await busyHouse()
            try await fixture.store.inner.tamper(id(number), in: "auditEntries") { fields in
                var changed = fields
                switch fields[field] {
                case .int64(let value): changed[field] = .int64(value ^ 1)
                case .data(let bytes): changed[field] = .data([bytes[0] ^ 1] + bytes.dropFirst())
                default: changed[field] = .string((fields[field]?.stringValue ?? "") + "x")
                }
                return changed
            }
            guard case .broken(let found, _) = try await verdict(fixture) else {
                Issue.record("entry \(number) was changed unseen")
                continue
            }
            #expect(found == number)
        }
    }

    @Test(arguments: 1...10) func `a deleted entry is found`(number: Int) async throws {
        let fixture = try await busyHouse()
        try await fixture.store.inner.tamper(id(number), in: "auditEntries") { _ in nil }
        #expect(try await verdict(fixture) == .broken(number: Int64(number), .missing))
    }

    @Test func `a log cut off at its end is found`() async throws {
        let fixture = try await busyHouse()
        for number in 9...11 { try await fixture.store.inner.tamper(id(number), in: "auditEntries") { _ in nil } }
        #expect(try await verdict(fixture) == .broken(number: 9, .missing))
    }

    @Test func `a head that names another last entry is found`() async throws {
        let fixture = try await busyHouse()
        try await fixture.store.inner.tamper("head", in: "auditHead") { _ in
            ["id": "head", "count": 11, "digest": .data([UInt8](repeating: 7, count: 32))]
        }
        #expect(try await verdict(fixture) == .broken(number: 11, .headAltered))
    }

    @Test func `a head that was set back or removed is found`() async throws {
        let fixture = try await busyHouse()
        let middle = try await fixture.store.inner.all("auditEntries")[7]
        try await fixture.store.inner.tamper("head", in: "auditHead") { _ in
            ["id": "head", "count": 8, "digest": middle["digest"]]
        }
        #expect(try await verdict(fixture) == .broken(number: 9, .beyondHead))
        try await fixture.store.inner.tamper("head", in: "auditHead") { _ in nil }
        #expect(try await verdict(fixture) == .broken(number: 1, .beyondHead))
    }

    @Test func `a log rewritten as a whole is found by a head that was kept elsewhere`() async throws {
        let (fixture, other) = (try await busyHouse(), try await IdentityFixture())
        guard case .intact(let kept) = try await verdict(fixture) else { return }
        _ = try await fixture.signIn()
        let admin = fixture.identity.administration
        guard case .intact = try await admin.verifyAudit(anchor: kept) else {
            Issue.record("its own head was not found")
            return
        }
        for _ in 0..<12 { _ = try await other.signIn() }
        #expect(
            try await other.identity.administration.verifyAudit(anchor: kept)
                == .broken(number: kept.count, .otherHistory))
    }

    @Test func `what is not written is not recorded, and what can't be recorded is not done`() async throws {
        let fixture = try await IdentityFixture()
        let before = fixture.store.inner.dump
        fixture.store.failWrites(PorticoError(.storeFull, "The disk is full."))
        #expect(await code { _ = try await fixture.signIn() } == .storeFull)
        #expect(
            await code { try await fixture.identity.administration.disable(fixture.alice.id, by: .system) }
                == .storeFull)
        #expect(fixture.store.inner.dump == before)
    }

    @Test func `every change lies in one transaction with its entry`() async throws {
        let fixture = try await IdentityFixture()
        let admin = fixture.identity.administration
        let signIn = try await fixture.signIn()
        let (key, _) = try await admin.createAPIKey(for: fixture.alice.id, title: "script", by: .system)
        try await admin.revokeAPIKey(key.id, of: fixture.alice.id, by: .system)
        try await admin.setRoles([], of: fixture.alice.id, by: .system)
        try await admin.setPassword(Secret("another password"), of: fixture.alice.id, by: .system)
        try await admin.disable(fixture.alice.id, by: .system)
        try await fixture.identity.signOut(signIn.authentication)
        for case .write(let entities) in fixture.store.takeOperations() {
            #expect(entities.contains("auditEntries") && entities.contains("auditHead"))
        }
    }

    @Test func `changes made side by side, by two processes, make one whole chain`() async throws {
        let fixture = try await IdentityFixture()
        let nodes = [fixture.identity, try await fixture.restarted()]
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<40 {
                group.addTask {
                    _ = try? await nodes[number % 2].signIn(
                        "alice", IdentityFixture.password, from: IdentityFixture.home)
                }
            }
        }
        guard case .intact(let head) = try await verdict(fixture) else {
            Issue.record("the chain is broken")
            return
        }
        #expect(head.count >= 30)
    }

    private func id(_ number: Int) -> RecordID {
        let digits = String(number)
        return RecordID(unchecked: String(repeating: "0", count: 19 - digits.count) + digits)
    }
}
