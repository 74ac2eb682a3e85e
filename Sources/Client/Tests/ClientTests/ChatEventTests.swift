import Testing
import ValueTree

@testable import Client

/// The events of the chat's live stream, and how the stream goes on.
@Suite("The chat's live stream")
struct ChatEventTests {
    private func event(_ name: String, _ data: String) throws -> ChatEvent? {
        try ChatEvent(ServerEvents.Event(name: name, data: data, id: "1"))
    }

    @Test("tells what happens in rooms, and leaves out what this version does not know")
    func events() throws {
        #expect(try event("ready", "{}") == .ready)
        #expect(try event("reset", "{}") == .reset)
        #expect(try event("removal", #"{"id":"m1","room":"r1"}"#) == .removal(message: "m1", room: "r1"))
        #expect(
            try event("membership", #"{"id":"r1","joined":["bob"],"left":["carol"]}"#)
                == .membership(room: "r1", joined: ["bob"], left: ["carol"]))
        #expect(
            try event("read", #"{"room":"r1","user":"bob","seq":7}"#) == .read(room: "r1", user: "bob", sequence: 7))
        #expect(try event("typing", #"{"room":"r1","user":"bob"}"#) == .typing(room: "r1", user: "bob"))
        #expect(try event("presence", #"{"user":"bob","online":true}"#) == .presence(user: "bob", isOnline: true))
        #expect(try event("presence", #"{"user":"bob"}"#) == .presence(user: "bob", isOnline: false))
        #expect(try event("tomorrow", "{}") == nil)
        #expect(throws: ClientError.self) { try event("ready", "{") }
        #expect(throws: ClientError.self) { try event("message", "{}") }
    }

    @Test("is opened again after the last event, with pauses that grow until something comes")
    func progress() throws {
        var progress = LiveProgress(after: nil, pauses: .seconds(1) ... .seconds(5))
        #expect(progress.begin() == .open(after: nil))
        #expect(progress.ended(nil) == .pause(.seconds(1)))
        #expect(progress.ended(.unreachable("x")) == .pause(.seconds(2)))
        #expect(progress.ended(nil) == .pause(.seconds(4)))
        #expect(progress.ended(nil) == .pause(.seconds(5)))
        #expect(progress.begin() == .open(after: nil))
        #expect(try progress.read(Array("id: 7\nevent: ready\ndata: {}\n\n".utf8)).map(\.name) == ["ready"])
        #expect(progress.ended(nil) == .pause(.seconds(1)))
        #expect(progress.begin() == .open(after: "7"))
    }

    @Test("ends where no later try can help")
    func ends() {
        var progress = LiveProgress(after: "3", pauses: .seconds(1) ... .seconds(5))
        #expect(progress.ended(.signInEnded) == .fail(.signInEnded))
        #expect(progress.ended(.notSignedIn) == .fail(.notSignedIn))
    }
}
