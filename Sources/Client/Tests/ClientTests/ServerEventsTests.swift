import Testing

@testable import Client

@Suite("Server-sent events")
struct ServerEventsTests {
    private func read(_ text: String, in pieces: Int = 1) throws -> (events: [ServerEvents.Event], id: String?) {
        var reader = ServerEvents()
        let bytes = Array(text.utf8)
        let length = max(1, bytes.count / pieces)
        let cuts = stride(from: 0, to: bytes.count, by: length)
        let events = try cuts.flatMap { try reader.read(Array(bytes[$0..<min($0 + length, bytes.count)])) }
        return (events, reader.lastID)
    }

    @Test("are the same however their bytes are cut, and whatever ends their lines", arguments: ["\n", "\r\n", "\r"])
    func cuts(_ end: String) throws {
        let text = ["event: edit", "id: 7", "data: {\"a\":", "data:1}", "", ": still here", "", "data: ü", "", ""]
            .joined(separator: end)
        let expected = [
            ServerEvents.Event(name: "edit", data: "{\"a\":\n1}", id: "7"),
            ServerEvents.Event(name: "message", data: "ü", id: "7"),
        ]
        for pieces in 1...text.utf8.count { #expect(try read(text, in: pieces).events == expected, "\(pieces)") }
    }

    @Test("may bring an id without an event: the place that the stream has reached")
    func ids() throws {
        let found = try read("id: 8\n\n: nothing\n\n")
        #expect(found.events.isEmpty && found.id == "8")
        #expect(try read("id: a\0b\n\n").id == nil)
    }

    @Test("that are longer than allowed end the stream")
    func size() {
        #expect(throws: TransportError.answerTooLarge(limit: ServerEvents.largestEvent)) {
            try read("data: " + String(repeating: "x", count: ServerEvents.largestEvent))
        }
    }
}

@Suite("The progress of a live stream")
struct LiveProgressTests {
    private let event = Array("id: 5\ndata: {}\n\n".utf8)

    @Test("goes on after the last event, with pauses that grow until something comes")
    func resumes() throws {
        var progress = LiveProgress(after: nil, pauses: .seconds(1)...(.seconds(4)))
        #expect(progress.begin() == .open(after: nil))
        #expect(progress.ended(.unreachable("")) == .pause(.seconds(1)))
        #expect(progress.ended(.deadlineExceeded) == .pause(.seconds(2)))
        for _ in 0..<100 { _ = progress.ended(nil) }
        #expect(progress.ended(nil) == .pause(.seconds(4)))
        #expect(progress.begin() == .open(after: nil))
        _ = try progress.read(event)
        #expect(progress.ended(nil) == .pause(.seconds(1)))
        #expect(progress.begin() == .open(after: "5"))
    }

    @Test("forgets half an event with the connection that it came over")
    func halves() throws {
        var progress = LiveProgress(after: nil, pauses: .seconds(1)...(.seconds(4)))
        _ = try progress.read(Array("data: {\"half".utf8))
        _ = progress.ended(nil)
        _ = progress.begin()
        #expect(try progress.read(event) == [ServerEvents.Event(name: "message", data: "{}", id: "5")])
    }

    @Test("ends where no later try can help, and waits as long as it is told")
    func ends() {
        var progress = LiveProgress(after: nil, pauses: .seconds(1)...(.seconds(4)))
        let gone = ClientError.refused(Refusal(status: 404, code: "route.notFound", message: ""))
        #expect(progress.ended(gone) == .fail(gone))
        #expect(progress.ended(.signInEnded) == .fail(.signInEnded))
        let busy = Refusal(status: 429, code: "access.rateLimited", message: "", retryAfter: .seconds(60))
        #expect(progress.ended(.refused(busy)) == .pause(.seconds(60)))
    }
}
