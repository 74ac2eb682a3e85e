import Foundation
import Synchronization
import Testing
import ValueTree

@testable import Client

/// What the chat does on the device alone.
@Suite("The chat without a network")
struct ChatOfflineTests {
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("chat-\(UUID().uuidString)")

    private func chat() throws -> ChatClient {
        let nobody = ScriptedTransport { _ in throw TransportError.unreachable("no network") }
        let session = Session(
            server: ServerAddress("http://gateway.example")!, transport: nobody, storage: CredentialsInMemory())
        return ChatClient(replica: try Replica(in: folder, session: session), session: session, user: "alice")
    }

    @Test("keeps what is written in its order, through restarts, and never sends what was removed before")
    func waiting() async throws {
        var chat = try chat()
        let texts = (1...30).map { "message \($0)" }
        var ids: [String] = []
        for text in texts { ids.append(try await chat.post(text, in: "r1")) }
        try await chat.post("elsewhere", in: "r2")
        await chat.replica.close()
        chat = try self.chat()
        var found = try await chat.messages(in: "r1", limit: 5)
        #expect(found.map(\.text) == texts && found.allSatisfy { $0.isWaiting && $0.user == "alice" && $0.sent == nil })
        try await chat.edit(ids[0], text: "changed")
        try await chat.delete(ids[1])
        found = try await chat.messages(in: "r1")
        #expect(found.map(\.text) == ["changed"] + texts[2...])
        #expect(try await chat.message(ids[1]) == nil)
        await chat.replica.close()
        try FileManager.default.removeItem(at: folder)
    }

    @Test("shows messages to who watches, in the moment in which they are written")
    func observed() async throws {
        let chat = try chat()
        var shown = chat.observeMessages(in: "r1").makeAsyncIterator()
        #expect(try await shown.next() == [])
        try await chat.post("now", in: "r1")
        #expect(try await shown.next()?.map(\.text) == ["now"])
        await chat.replica.close()
        try FileManager.default.removeItem(at: folder)
    }

    @Test("remembers how far one has read: marks only move forward, and outlive the process")
    func marks() async throws {
        var chat = try chat()
        #expect(try await chat.marks.move("r1", to: 5, unsent: "m5"))
        #expect(try await chat.marks.move("r1", to: 4, unsent: "m4") == false)
        await chat.replica.close()
        chat = try self.chat()
        #expect(try await chat.marks.all() == ["r1": ReadMarks.Mark(sequence: 5, unsent: "m5")])
        try await chat.marks.noteSent("r1", "another")
        #expect(try await chat.marks.all()["r1"]?.unsent == "m5")
        try await chat.marks.noteSent("r1", "m5")
        #expect(try await chat.marks.all() == ["r1": ReadMarks.Mark(sequence: 5, unsent: nil)])
        await chat.replica.close()
        try FileManager.default.removeItem(at: folder)
    }

    @Test("makes ids in the order of writing, whatever the clock does")
    func ids() {
        let times = StepsOfTime([5, 5, 5, 3, 900])
        let ids = MessageIDs(now: { times.next() })
        let made = (0..<5).map { _ in ids.next() }
        #expect(made == made.sorted() && Set(made).count == 5)
        #expect(made.allSatisfy { $0.count == 36 && $0.dropFirst(14).first == "7" && UUID(uuidString: $0) != nil })
    }
}

private final class StepsOfTime: Sendable {
    private let times: [Double]
    private let place = Mutex(0)

    init(_ times: [Double]) { self.times = times }

    func next() -> Double {
        times[
            place.withLock { place in
                defer { place += 1 }
                return place
            }]
    }
}
