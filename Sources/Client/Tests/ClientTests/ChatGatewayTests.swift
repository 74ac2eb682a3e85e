import Foundation
import Testing

@testable import Client

/// The chat of two people against the gateway that `PORTICO_GATEWAY` names; the end-to-end tests start one and run these.
/// One after the other: a gateway hashes few passwords at once, and on a busy machine slowly.
@Suite("A gateway's chat", .serialized, .enabled(if: RunningGateway.address != nil))
struct ChatGatewayTests {
    private final class Person {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("chat-\(UUID().uuidString)")
        let portico: Portico

        init(_ name: String) async throws {
            var limits = SyncLimits()
            limits.pauses = .milliseconds(20)...(.milliseconds(200))
            let settings = PorticoSettings(
                replica: ReplicaSettings(collections: ["rooms", "messages"], limits: limits), startsByItself: false)
            portico = try await Portico.open(try #require(RunningGateway.address), in: folder, settings: settings)
            try await portico.signIn(name: name, password: "portico-demo")
        }

        func sync() async throws { try await portico.replica().sync(within: .seconds(60)) }

        deinit { try? FileManager.default.removeItem(at: folder) }
    }

    @Test("reaches the other one, who reads it, counts it, marks it and answers without a network in between")
    func conversation() async throws {
        let (alice, bob) = (try await Person("alice"), try await Person("bob"))
        let (chat, other) = (try await alice.portico.chat(), try await bob.portico.chat())
        let room = try await chat.createRoom(named: "Swift \(UUID().uuidString)", with: ["bob"])
        let first = try await chat.post("one", in: room.id)
        try await chat.post("two", in: room.id, attachments: [Array("bytes".utf8)])
        try await alice.sync()
        try await bob.sync()
        let read = try await other.messages(in: room.id)
        #expect(read.map(\.text) == ["one", "two"] && read.map(\.user) == ["alice", "alice"])
        #expect(read.allSatisfy { !$0.isWaiting && $0.sent != nil && $0.edited == nil })
        #expect(try await other.attachment(try #require(read.last?.attachments.first)) == Array("bytes".utf8))
        #expect(try await other.rooms().contains { $0.id == room.id && $0.members?.sorted() == ["alice", "bob"] })

        func unread(_ chat: ChatClient) async throws -> Int? {
            try await chat.unread().first { $0.room == room.id }?.count
        }
        #expect(try await unread(other) == 2)
        try await other.markRead(upTo: read[0])
        #expect(try await unread(other) == 1)
        #expect(try await other.marks.all()[room.id]?.unsent == nil, "the server was told")
        // Another device of bob's knows it once it has asked.
        let second = try await Person("bob")
        try await second.sync()
        let elsewhere = try await second.portico.chat()
        #expect(try await unread(elsewhere) == 2)
        try await elsewhere.refreshReadMarks()
        #expect(try await unread(elsewhere) == 1)

        try await chat.edit(first, text: "one, changed")
        try await alice.sync()
        try await bob.sync()
        let changed = try #require(try await other.message(first))
        #expect(changed.text == "one, changed" && changed.edited != nil && changed.sequence == read[0].sequence)
        #expect(try await chat.search("changed", in: room.id).map(\.id) == [first])
    }

    @Test("is gone from the device of who was removed, with what waited for it told as a problem")
    func removed() async throws {
        let (alice, bob) = (try await Person("alice"), try await Person("bob"))
        let (chat, other) = (try await alice.portico.chat(), try await bob.portico.chat())
        let room = try await chat.createRoom(named: "Swift \(UUID().uuidString)", with: ["bob"])
        try await chat.post("secret", in: room.id)
        try await alice.sync()
        try await bob.sync()
        #expect(try await other.messages(in: room.id).count == 1)
        let late = try await other.post("too late", in: room.id)
        try await chat.remove("bob", from: room.id)
        try await bob.sync()
        try await bob.sync()
        #expect(try await other.messages(in: room.id) == [])
        #expect(try await other.room(room.id) == nil)
        let problem = try #require(other.problems().first)
        #expect(problem.message == late && problem.wish == .post(text: "too late", attachments: []))
        #expect(problem.reason == .notInRoom || problem.reason == .notAllowed, "\(problem.reason)")
        try await chat.invite("bob", to: room.id)
        try await bob.sync()
        try await other.retry(problem, text: "back again")
        try await bob.sync()
        #expect(other.problems().isEmpty)
        #expect(try await other.messages(in: room.id).map(\.text) == ["secret", "back again"])
    }

    @Test("tells what happens live, and after an interruption what was missed")
    func live() async throws {
        let (alice, bob) = (try await Person("alice"), try await Person("bob"))
        let (chat, other) = (try await alice.portico.chat(), try await bob.portico.chat())
        let room = try await chat.createRoom(named: "Swift \(UUID().uuidString)", with: ["bob"])
        var events = other.events().makeAsyncIterator()
        while try await events.next() != .ready {}
        try await chat.typing(in: room.id)
        while try await events.next() != .typing(room: room.id, user: "alice") {}
        #expect(try await chat.online(in: room.id).contains("bob"))
        try await chat.post("live", in: room.id)
        try await alice.sync()
        var told: ChatMessage?
        while told == nil {
            if case .message(let message)? = try await events.next(), message.room == room.id { told = message }
        }
        #expect(told?.text == "live" && told?.user == "alice")
        let read = try #require(try await chat.messages(in: room.id).last)
        try await chat.markRead(upTo: read)
        while try await events.next() != .read(room: room.id, user: "alice", sequence: read.sequence ?? 0) {}
        try await chat.remove("bob", from: room.id)
        while try await events.next() != .membership(room: room.id, joined: [], left: ["bob"]) {}
    }

    @Test("lets people find and join public rooms, and leave them")
    func publicRooms() async throws {
        let (alice, bob) = (try await Person("alice"), try await Person("bob"))
        let (chat, other) = (try await alice.portico.chat(), try await bob.portico.chat())
        let name = "Swift \(UUID().uuidString)"
        let room = try await chat.createRoom(named: name, isPublic: true)
        #expect(try await other.publicRooms(after: String(name.dropLast())).contains { $0.id == room.id })
        _ = try await other.join(room.id)
        #expect(try await chat.members(of: room.id).sorted() == ["alice", "bob"])
        try await other.leave(room.id)
        #expect(try await chat.members(of: room.id) == ["alice"])
        #expect(try await chat.people().contains { $0.id == "bob" })
        let error = await #expect(throws: ClientError.self) { try await other.join("nothing") }
        guard case .refused(let refusal)? = error else { return #expect(Bool(false), "\(String(describing: error))") }
        #expect(refusal.code == "record.notFound")
    }
}
