import AdapterKit
import AdapterTesting
import Chat
import Foundation
import Synchronization
import Testing
import WireFormats

/// A Twaddle server of one room, as far as a bridge asks it.
private final class TwaddleServer: Sendable {
    struct Message: Sendable {
        let id: String
        let sequence: Int64
        let user: String
        let text: String
    }

    struct State: Sendable {
        var messages: [Message] = []
        var last: Int64 = 0
        var isDown = false
        /// So many posts are stored, and their answers lost.
        var lostAnswers = 0
        var requests = 0
    }

    private let honoursIDs: Bool
    private let state = Mutex(State())

    init(honoursIDs: Bool = true) { self.honoursIDs = honoursIDs }

    var texts: [String] { state.withLock { $0.messages.map(\.text) } }
    var requests: Int { state.withLock { $0.requests } }

    func set(_ change: (inout State) -> Void) { state.withLock { change(&$0) } }

    func post(_ text: String, by user: String = "bob") { state.withLock { _ = Self.add(text, user, nil, &$0) } }

    func upstream() throws -> ScriptedUpstream {
        ScriptedUpstream(url: try #require(UpstreamAddress("https://twaddle.example/"))) {
            (request, _) async throws(UpstreamFailure) in
            try self.answer(request)
        }
    }

    private static func add(_ text: String, _ user: String, _ id: String?, _ state: inout State) -> Message {
        state.last += 1
        let message = Message(id: id ?? "server \(state.last)", sequence: state.last, user: user, text: text)
        state.messages.append(message)
        return message
    }

    private func answer(_ request: UpstreamRequest) throws(UpstreamFailure) -> UpstreamResponse {
        let members = request.twaddle
        return try state.withLock { (state) throws(UpstreamFailure) in
            state.requests += 1
            if state.isDown { throw UpstreamFailure(.unreachable, of: "upstream") }
            switch members["function"]?.stringValue {
            case "getmessages":
                let before = members["before"]?.int64Value ?? .max
                let page = state.messages.filter { $0.sequence < before }.suffix(200).map(Self.value)
                return .json(["messages": .array(Array(page))], to: request)
            case "postmessage":
                let id = honoursIDs ? members["id"]?.stringValue : nil
                if let known = state.messages.first(where: { $0.id == id }) {
                    return .json(["message": Self.value(known)], to: request)
                }
                let message = Self.add(members["text"]?.stringValue ?? "", "bridge", id, &state)
                if state.lostAnswers > 0 {
                    state.lostAnswers -= 1
                    throw UpstreamFailure(.broken, of: "upstream")
                }
                return .json(["message": Self.value(message)], to: request)
            default: return .json([:], to: request, status: 400)
            }
        }
    }

    private static func value(_ message: Message) -> WireValue {
        [
            "id": .string(message.id), "seq": .int64(message.sequence), "user": .string(message.user),
            "text": .string(message.text),
        ]
    }
}

extension UpstreamRequest {
    /// The document of the form's field `post`.
    fileprivate var twaddle: WireDictionary {
        let text = String(decoding: body.dropFirst("post=".utf8.count), as: UTF8.self).replacing("+", with: " ")
        let document = Array((text.removingPercentEncoding ?? "").utf8)
        return (try? JSONFormat().read(document).dictionaryValue) ?? [:]
    }
}

extension UpstreamResponse {
    fileprivate static func json(
        _ members: WireDictionary, to request: UpstreamRequest, status: Int = 200
    ) -> UpstreamResponse {
        UpstreamResponse(
            address: request.address, status: status, fields: ["Content-Type": "application/json"],
            body: (try? JSONFormat().write(.dictionary(members))) ?? [])
    }
}

@Suite struct `Chat rooms of another server` {
    private static let names = ["alice", "bob", "bridge"]

    private func host(_ upstream: any Upstream, _ more: WireDictionary = [:]) async throws -> TestHost {
        var configuration: WireDictionary = ["upstream": "upstream", "rooms": ["r1"], "refresh": 0.05]
        for entry in more { configuration[entry.key] = entry.value }
        let host = try await TestHost(
            ChatModule.self, AdapterConfiguration(configuration), accounts: Self.names, upstream: upstream)
        try await until { try await host.records.unrestricted.record("r1", in: "rooms") != nil }
        try await host.call("joinchatroom", ["room": "r1"], as: .user("alice"))
        // From here on messages are sent.
        try await until { try await host.records.unrestricted.record("r1", in: "bridgedRooms") != nil }
        return host
    }

    private func post(_ text: String, on host: TestHost, id: String? = nil) async throws {
        var input: WireDictionary = ["room": "r1", "text": .string(text)]
        if let id { input["id"] = .string(id) }
        try await host.call("postmessage", input, as: .user("alice"))
    }

    private func texts(_ host: TestHost) async throws -> [String] {
        let filter = Filter.compare("room", .equal, "r1")
        let query = Query(filter, order: [SortKey("seq")], limit: 1_000)
        return try await host.records.unrestricted.query(query, in: "messages").records.compactMap {
            $0["text"].stringValue
        }
    }

    /// Waits for what has to come; what never does fails the test.
    private func until(_ holds: () async throws -> Bool) async throws {
        for _ in 0..<2_000 {
            if try await holds() { return }
            try await Task.sleep(for: .milliseconds(50))
        }
        Issue.record("it does not become true")
    }

    /// So many further looks at the server, in which nothing more may come.
    private func looks(_ count: Int, at server: TwaddleServer) async throws {
        let end = server.requests + count
        try await until { server.requests >= end }
    }

    @Test(arguments: [true, false])
    func `messages go both ways once, and an echo is the message that was sent`(honoursIDs: Bool) async throws {
        let server = TwaddleServer(honoursIDs: honoursIDs)
        server.post("earlier")
        let host = try await host(server.upstream())
        try await post("a&b+c%20d {", on: host, id: "chosen")
        try await until { server.texts.count == 2 }
        server.post("later")
        try await until { try await texts(host).count == 3 }
        try await looks(5, at: server)
        #expect(server.texts == ["earlier", "alice: a&b+c%20d {", "later"])
        #expect(Set(try await texts(host)) == ["bob: earlier", "a&b+c%20d {", "bob: later"])
        #expect(try await texts(host).count == 3)
        // What was read back is no longer remembered.
        #expect(try await host.records.unrestricted.count(nil, in: "bridgedEchoes") == 0)
        await host.stop()
    }

    @Test(arguments: [true, false])
    func `a message whose answer is lost is there once`(honoursIDs: Bool) async throws {
        let server = TwaddleServer(honoursIDs: honoursIDs)
        let host = try await host(server.upstream())
        for number in 1...5 {
            server.set { $0.lostAnswers = 1 }
            try await post("text \(number)", on: host)
            try await until { server.texts.count == number }
        }
        try await looks(5, at: server)
        #expect(server.texts == (1...5).map { "alice: text \($0)" })
        #expect(try await texts(host) == (1...5).map { "text \($0)" })
        await host.stop()
    }

    @Test func `while the server is down the chat goes on, and all follows in order when it is back`() async throws {
        let server = TwaddleServer()
        let host = try await host(server.upstream())
        server.set { $0.isDown = true }
        for number in 1...55 { try await post("text \(number)", on: host) }
        #expect(server.texts == [])
        for number in 1...205 { server.post("missed \(number)") }
        server.set { $0.isDown = false }
        try await until { server.texts.count == 260 }
        try await until { try await texts(host).count == 260 }
        try await looks(5, at: server)
        #expect(Array(server.texts.suffix(55)) == (1...55).map { "alice: text \($0)" })
        #expect(Array(try await texts(host).suffix(205)) == (1...205).map { "bob: missed \($0)" })
        await host.stop()
    }

    @Test func `a message that was removed here before it was read back does not come again`() async throws {
        let server = TwaddleServer()
        let host = try await host(server.upstream())
        try await post("removed", on: host, id: "gone")
        try await until { server.texts.count == 1 }
        try await host.call("deletemessage", ["message": "gone"], as: .user("alice"))
        try await looks(5, at: server)
        #expect(try await texts(host) == [])
        await host.stop()
    }

    @Test func `of more messages than may wait the oldest are not sent`() async throws {
        let server = TwaddleServer()
        let host = try await host(server.upstream(), ["limits": ["pending": 10]])
        server.set { $0.isDown = true }
        for number in 1...25 { try await post("text \(number)", on: host) }
        let asked = server.requests
        try await until { server.requests > asked + 1 }
        server.set { $0.isDown = false }
        try await until { server.texts.last == "alice: text 25" }
        #expect(server.texts.count < 25)
        #expect(server.texts == (26 - server.texts.count...25).map { "alice: text \($0)" })
        #expect(try await texts(host).count == 25)
        await host.stop()
    }

    @Test(
        arguments: [
            ["rooms": ["r1"]], ["upstream": "upstream"], ["upstream": "upstream", "rooms": []],
            ["upstream": "upstream", "rooms": ["r1", "r1"]], ["upstream": "upstream", "rooms": [""]],
        ] as [WireDictionary])
    func `rooms and a server belong together`(configuration: WireDictionary) throws {
        let problem = try #require(throws: ConfigurationProblem.self) {
            try ChatModule.declare(AdapterConfiguration(configuration))
        }
        #expect(problem.path == "rooms")
    }
}
