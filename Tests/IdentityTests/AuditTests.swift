import AdapterKit
import Identity
import Testing

@Suite struct AuditTests {
    /// A house with a dozen entries.
    private func busyHouse() async throws -> TestHouse {
        let house = try await TestHouse()
        for _ in 0..<4 { try await house.identity.signOut(house.signIn().authentication) }
        _ = await code { _ = try await house.signIn("alice", Secret("wrong password")) }
        return house
    }

    private func verdict(_ house: TestHouse) async throws -> AuditVerdict {
        try await house.identity.administration.verifyAudit()
    }

    @Test func `sign-ins, refusals and administration are recorded, by whom and from where`() async throws {
        let house = try await busyHouse()
        let entries = try await house.identity.administration.auditEntries(limit: 3)
        #expect(entries.map(\.kind) == ["signIn.refused", "signIn.ended", "signIn.accepted"])
        #expect(entries[0].subject == house.alice.id.text)
        #expect(entries[0].actor == "")
        #expect(entries[1].actor == house.alice.id.text)
        #expect(entries[2].address == "192.0.2.1")
        #expect(entries[2].milliseconds == 1_800_000_000_000)
        let earlier = try await house.identity.administration.auditEntries(before: 3)
        #expect(earlier.map(\.kind) == ["account.added", "signingKey.rotated"])
    }

    @Test func `an untouched log is intact`() async throws {
        let house = try await busyHouse()
        guard case .intact(let head) = try await verdict(house) else {
            Issue.record("it is not")
            return
        }
        #expect(head.count == 11)
        #expect(try await house.restarted().administration.verifyAudit() == .intact(head))
    }

    @Test(arguments: ["milliseconds", "kind", "actor", "subject", "address", "detail", "digest", "number"])
    func `a field flipped in any entry is found there`(field: String) async throws {
        for number in 1...11 {
            let house = try await busyHouse()
            house.store.inner.tamper(id(number), in: "auditEntries") { fields in
                var changed = fields
                switch fields[field] {
                case .int64(let value): changed[field] = .int64(value ^ 1)
                case .data(let bytes): changed[field] = .data([bytes[0] ^ 1] + bytes.dropFirst())
                default: changed[field] = .string((fields[field]?.stringValue ?? "") + "x")
                }
                return changed
            }
            guard case .broken(let found, _) = try await verdict(house) else {
                Issue.record("entry \(number) was changed unseen")
                continue
            }
            #expect(found == number)
        }
    }

    @Test(arguments: 1...10) func `a deleted entry is found`(number: Int) async throws {
        let house = try await busyHouse()
        house.store.inner.tamper(id(number), in: "auditEntries") { _ in nil }
        #expect(try await verdict(house) == .broken(number: Int64(number), .missing))
    }

    @Test func `a log cut off at its end is found`() async throws {
        let house = try await busyHouse()
        for number in 9...11 { house.store.inner.tamper(id(number), in: "auditEntries") { _ in nil } }
        #expect(try await verdict(house) == .broken(number: 9, .missing))
    }

    @Test func `a head that names another last entry is found`() async throws {
        let house = try await busyHouse()
        house.store.inner.tamper("head", in: "auditHead") { _ in
            ["id": "head", "count": 11, "digest": .data([UInt8](repeating: 7, count: 32))]
        }
        #expect(try await verdict(house) == .broken(number: 11, .headAltered))
    }

    @Test func `a head that was set back or removed is found`() async throws {
        let house = try await busyHouse()
        let middle = house.store.inner.all("auditEntries")[7]
        house.store.inner.tamper("head", in: "auditHead") { _ in
            ["id": "head", "count": 8, "digest": middle["digest"]]
        }
        #expect(try await verdict(house) == .broken(number: 9, .beyondHead))
        house.store.inner.tamper("head", in: "auditHead") { _ in nil }
        #expect(try await verdict(house) == .broken(number: 1, .beyondHead))
    }

    @Test func `a log rewritten as a whole is found by a head that was kept elsewhere`() async throws {
        let (house, other) = (try await busyHouse(), try await TestHouse())
        guard case .intact(let kept) = try await verdict(house) else { return }
        _ = try await house.signIn()
        let admin = house.identity.administration
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
        let house = try await TestHouse()
        let before = house.store.inner.dump
        house.store.failWrites(PorticoError(.storeFull, "The disk is full."))
        #expect(await code { _ = try await house.signIn() } == .storeFull)
        #expect(
            await code { try await house.identity.administration.disable(house.alice.id, by: .system) } == .storeFull)
        #expect(house.store.inner.dump == before)
    }

    @Test func `every change lies in one transaction with its entry`() async throws {
        let house = try await TestHouse()
        let admin = house.identity.administration
        let signIn = try await house.signIn()
        let (key, _) = try await admin.createAPIKey(for: house.alice.id, title: "script", by: .system)
        try await admin.revokeAPIKey(key.id, of: house.alice.id, by: .system)
        try await admin.setRoles([], of: house.alice.id, by: .system)
        try await admin.setPassword(Secret("another password"), of: house.alice.id, by: .system)
        try await admin.disable(house.alice.id, by: .system)
        try await house.identity.signOut(signIn.authentication)
        for case .write(let entities) in house.store.takeOperations() {
            #expect(entities.contains("auditEntries") && entities.contains("auditHead"))
        }
    }

    @Test func `changes made side by side, by two processes, make one whole chain`() async throws {
        let house = try await TestHouse()
        let nodes = [house.identity, try await house.restarted()]
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<40 {
                group.addTask {
                    _ = try? await nodes[number % 2].signIn("alice", TestHouse.password, from: TestHouse.home)
                }
            }
        }
        guard case .intact(let head) = try await verdict(house) else {
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
