import Client
import Foundation
import GRDB
import Synchronization
import Testing
import ValueTree

/// A pull of more records than a device gathers in memory.
@Suite("A long pull")
struct LongPullTests {
    /// Bob's device, and twenty notes that he may see.
    private func world() async throws -> (gateway: MemoryGateway, alice: Device, bob: Device) {
        let gateway = try await MemoryGateway()
        let alice = try await Device("alice", at: gateway)
        for number in 10..<30 { try await alice.note("n\(number)", sharedWith: ["bob"]) }
        await alice.sync()
        return (gateway, alice, try await Device("bob", at: gateway))
    }

    private let all = (10..<30).map { "n\($0)" }

    /// The network is gone from that page on.
    private func cut(_ gateway: MemoryGateway, atPage number: Int) {
        let pages = Mutex(0)
        gateway.fail { request in
            guard request.url.hasSuffix("/pull") else { return nil }
            return pages.withLock { pages in
                pages += 1
                return pages > number ? .lost : nil
            }
        }
    }

    @Test("shows nothing before its last page, over a restart too, and then everything in order")
    func whole() async throws {
        let (gateway, _, bob) = try await world()
        cut(gateway, atPage: 4)
        #expect(await bob.sync().lastError != nil)
        #expect(try await bob.titles().isEmpty)
        try await bob.reopen()
        #expect(try await bob.titles().isEmpty)
        #expect(!bob.replica.status.hasSynced)
        await bob.sync()
        #expect(try await bob.titles() == all)
        #expect(try await bob.titles(.descending("title")) == all.reversed())
    }

    @Test(
        "leaves an edit alone that is made while it is under way: it is durable at once, and lies over the rows after")
    func edited() async throws {
        let (gateway, _, bob) = try await world()
        cut(gateway, atPage: 4)
        await bob.sync()
        let mine = try await bob.note("mine")
        #expect(try await bob.titles() == ["mine"])
        try await bob.reopen()
        #expect(try await bob.titles() == ["mine"])
        gateway.fail { $0.url.hasSuffix("/push") ? .lost : nil }
        await bob.sync()
        #expect(try await bob.titles() == ["mine"] + all)
        #expect(try await bob.replica.record(mine, in: "notes")?.isWaiting == true)
        await bob.sync()
        #expect(try await bob.replica.record(mine, in: "notes")?.isWaiting == false)
    }

    @Test("over rows that there are changes those that it names, and no others, all at once")
    func later() async throws {
        let (gateway, alice, bob) = try await world()
        await bob.sync()
        let notes = try await alice.replica.records(RecordQuery("notes", order: [.ascending("title")]))
        for note in notes[..<8] { try await alice.replica.update(note.id, in: "notes", ["title": .string("changed")]) }
        for note in notes[8..<14] { try await alice.replica.delete(note.id, in: "notes") }
        await alice.sync()
        cut(gateway, atPage: 3)
        await bob.sync()
        #expect(try await bob.titles() == all)
        try await bob.reopen()
        #expect(try await bob.titles() == all)
        await bob.sync()
        #expect(try await bob.titles() == Array(repeating: "changed", count: 8) + all[14...])
        let fresh = try await Device("bob", at: gateway)
        await fresh.sync()
        #expect(try await fresh.replica.records(RecordQuery("notes")) == bob.replica.records(RecordQuery("notes")))
    }
}
