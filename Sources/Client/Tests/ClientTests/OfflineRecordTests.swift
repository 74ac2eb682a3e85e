import Client
import Foundation
import Testing
import ValueTree

/// What a replica makes of records that it creates without a network, from what it was told of their collection.
@Suite("A record that is made without a network")
struct OfflineRecordTests {
    private struct Note: Codable, Equatable {
        let id: String
        let title: String
    }

    private let gateway: MemoryGateway
    private let alice: Device

    init() async throws {
        gateway = try await MemoryGateway()
        alice = try await Device("alice", at: gateway)
        await alice.sync()
        gateway.isOnline = false
    }

    private func decoded(_ id: String) async throws -> Note? {
        try await alice.replica.record(id, in: "notes")?.decoded()
    }

    @Test("has its key among its fields, before the server has it and after")
    func key() async throws {
        let id = try await alice.replica.create(in: "notes", ["title": "milk"])
        #expect(try await decoded(id) == Note(id: id, title: "milk"))
        try await alice.reopen()
        #expect(try await decoded(id) == Note(id: id, title: "milk"))
        try await alice.replica.update(id, in: "notes", ["title": "bread"])
        #expect(try await decoded(id) == Note(id: id, title: "bread"))
        gateway.isOnline = true
        #expect(await alice.sync().waiting == 0)
        #expect(try await decoded(id) == Note(id: id, title: "bread"))
        #expect(alice.replica.status.problems.isEmpty)
    }

    @Test("can be found by its key")
    func query() async throws {
        let id = try await alice.note("milk")
        #expect(try await alice.replica.count(RecordQuery("notes", where: [.equals("id", .string(id))])) == 1)
    }

    @Test("takes its id from its key field")
    func ownID() async throws {
        #expect(try await alice.replica.create(in: "notes", ["id": "own", "title": "milk"]) == "own")
        await #expect(throws: ClientError.keyDiffers("id", collection: "notes")) {
            try await alice.replica.create(in: "notes", ["id": "one"], id: "another")
        }
        await #expect(throws: ClientError.keyDiffers("id", collection: "notes")) {
            try await alice.replica.update("own", in: "notes", ["id": "another"])
        }
        gateway.isOnline = true
        let status = await alice.sync()
        #expect(status.waiting == 0 && status.problems.isEmpty)
        #expect(try await decoded("own")?.title == "milk")
    }

    @Test("has no field that its collection does not have")
    func unknownField() async throws {
        let unknown = ClientError.unknownField("titel", collection: "notes")
        await #expect(throws: unknown) { try await alice.replica.create(in: "notes", ["titel": "misspelt"]) }
        let id = try await alice.note("milk")
        await #expect(throws: unknown) { try await alice.replica.update(id, in: "notes", ["titel": "misspelt"]) }
        #expect(alice.replica.status.waiting == 1)
        #expect(try await decoded(id) == Note(id: id, title: "milk"))
    }

    @Test("is refused in a problem's resolution as it is in an edit, and the problem stays")
    func resolution() async throws {
        gateway.isOnline = true
        let bob = try await Device("bob", at: gateway)
        let note = try await alice.replica.create(in: "notes", ["title": "alice's", "sharedWith": ["bob"]])
        await alice.sync()
        await bob.sync()
        try await bob.replica.update(note, in: "notes", ["title": "bob's"])
        let problem = try #require(await bob.sync().problems.first)
        await #expect(throws: ClientError.unknownField("titel", collection: "notes")) {
            try await bob.replica.resolve(problem, with: .update(["titel": "misspelt"]))
        }
        #expect(bob.replica.status.problems == [problem])
    }

    @Test("belongs to a collection that the account has, also where none were named")
    func unknownCollection() async throws {
        await #expect(throws: ClientError.unknownCollection("note")) {
            try await alice.replica.create(in: "note", ["title": "misspelt"])
        }
    }

    @Test("has its key as soon as the replica learns it, where it was made before the first sync")
    func beforeTheFirstSync() async throws {
        gateway.isOnline = true
        let early = try await Device("alice", at: gateway)
        let id = try await early.note("early")
        #expect(try await early.replica.record(id, in: "notes")?["id"] == nil)
        gateway.fail(once: { $0.url.hasSuffix("push") ? .lost : nil })
        #expect(await early.sync().waiting == 1)
        #expect(try await early.replica.record(id, in: "notes")?["id"] == .string(id))
    }

    @Test("is taken as it is where the server describes nothing")
    func olderServer() async throws {
        gateway.isOnline = true
        gateway.describes = false
        let other = try await Device("alice", at: gateway)
        await other.sync()
        gateway.isOnline = false
        let id = try await other.replica.create(in: "notes", ["title": "milk", "titel": "who knows"])
        #expect(try await other.replica.record(id, in: "notes")?.fields == ["title": "milk", "titel": "who knows"])
    }
}
