import AdapterKit
import AdapterTesting
import Chat
import Testing
import WorkerTesting

@Suite struct `Chat` {
    private let names = ["alice", "Bob", "carol", "someone"]

    private func host(_ configuration: WireDictionary = [:]) async throws -> TestHost {
        try await TestHost(ChatModule.self, AdapterConfiguration(configuration), accounts: names)
    }

    private func room(
        _ host: TestHost, of owner: String = "alice", with members: [WireValue] = [], isPublic: Bool = false
    ) async throws -> WireValue {
        let answer = try await host.value(
            "createchatroom", ["name": "Room", "members": .array(members), "isPublic": .bool(isPublic)],
            as: .user(owner))
        return try #require(answer["room"]?["id"])
    }

    private func post(_ text: String, in room: WireValue, by name: String, on host: TestHost) async throws -> WireValue
    {
        let answer = try await host.value("postmessage", ["room": room, "text": .string(text)], as: .user(name))
        return try #require(answer["message"])
    }

    private func code<Result>(_ call: () async throws -> Result) async throws -> ErrorCode? {
        try await refusal(call)?.code
    }

    private func texts(_ host: TestHost, _ input: WireDictionary, as name: String) async throws -> [String] {
        let page = try await host.value("getmessages", input, as: .user(name))
        return (page["messages"]?.arrayValue ?? []).compactMap { $0["text"]?.stringValue }
    }

    @Test(arguments: Mode.allCases) func `the adapter conforms`(mode: Mode) async {
        let room = AdapterConformance.Example("createchatroom", ["name": "Room", "id": "r", "isPublic": true])
        let message = AdapterConformance.Example("postmessage", ["room": "r", "text": "words", "id": "m"])
        let inRoom: WireDictionary = ["room": "r"]
        let member: WireDictionary = ["room": "r", "member": "Bob"]
        let conformance = AdapterConformance(
            mode.module(ChatModule.self),
            examples: [
                .init("twaddle", ["function": "getusers"]), .init("getusers"), room,
                .init("getchatrooms", after: [room]), .init("getpublicrooms", after: [room]),
                .init("joinchatroom", inRoom, as: .user("Bob"), after: [room]),
                .init("leavechatroom", inRoom, after: [room]), .init("getmembers", inRoom, after: [room]),
                .init("setretention", ["room": "r", "seconds": 60], after: [room]),
                .init("typing", inRoom, after: [room]), .init("getpresence", inRoom, after: [room]),
                .init("invite", ["room": "r", "member": "someone"], after: [room]),
                .init("removemember", member, after: [room]), .init("banmember", member, after: [room]),
                .init("postmessage", ["room": "r", "text": "x"], after: [room]),
                .init("getmessages", inRoom, after: [room, message]),
                .init("editmessage", ["message": "m", "text": "y"], after: [room, message]),
                .init("deletemessage", ["message": "m"], after: [room, message]),
                .init("searchmessages", ["words": "wor"], after: [room, message]),
                .init("markread", ["room": "r", "message": "m"], after: [room, message]),
                .init("getunread", after: [room, message]),
                .init("registerdevice", ["token": "t"]), .init("unregisterdevice", ["token": "t"]),
            ])
        let problems = await conformance.problems()
        #expect(problems.isEmpty, "\(problems.joined(separator: "; "))")
    }

    @Test func `a moderator removes messages and members of rooms that it is not in`() async throws {
        let host = try await host()
        let room = try await room(host, with: ["Bob"])
        let id = try #require(try await post("x", in: room, by: "Bob", on: host)["id"])
        let moderator = Principal.user("carol", roles: ["admin"])
        #expect(
            try await code { try await host.value("getmessages", ["room": room], as: moderator) } == .recordNotFound)
        try await host.call("deletemessage", ["message": id], as: moderator)
        try await host.call("banmember", ["room": room, "member": "Bob"], as: moderator)
        #expect(try await texts(host, ["room": room], as: "alice").isEmpty)
        #expect(try await code { try await texts(host, ["room": room], as: "Bob") } == .recordNotFound)
    }

    @Test func `a page goes backwards or forwards from a message, oldest first`() async throws {
        let host = try await host()
        let room = try await room(host)
        var sequences: [WireValue] = []
        for text in ["a", "b", "c", "d"] {
            sequences.append(try #require(try await post(text, in: room, by: "alice", on: host)["seq"]))
        }
        #expect(try await texts(host, ["room": room, "limit": 2], as: "alice") == ["c", "d"])
        #expect(try await texts(host, ["room": room, "limit": 2, "before": sequences[2]], as: "alice") == ["a", "b"])
        #expect(try await texts(host, ["room": room, "limit": 2, "after": sequences[0]], as: "alice") == ["b", "c"])
    }

    @Test func `posting again under the same id posts once`() async throws {
        let host = try await host()
        let room = try await room(host, with: ["Bob"])
        let input: WireDictionary = ["room": room, "text": "x", "id": "m1"]
        let first = try await host.value("postmessage", input, as: .user("alice"))
        #expect(try await host.value("postmessage", input, as: .user("alice")) == first)
        let refusal = try await code { try await host.value("postmessage", input, as: .user("Bob")) }
        #expect(refusal == .recordExists)
        #expect(try await texts(host, ["room": room], as: "Bob") == ["x"])
    }

    @Test func `members are invited by the name of their account, case aside`() async throws {
        let host = try await host()
        let room = try await room(host)
        let invited = try await host.value("invite", ["room": room, "member": "bOB"], as: .user("alice"))
        #expect(invited["members"] == ["alice", "Bob"])
        #expect(
            try await code { try await host.value("invite", ["room": room, "member": "nobody"], as: .user("alice")) }
                == .requestInvalid)
    }

    @Test(arguments: ["getmembers", "getmessages", "leavechatroom", "joinchatroom"] as [OperationName])
    func `a room of others is as good as none`(operation: OperationName) async throws {
        let host = try await host()
        let hidden = try await room(host)
        for room in [hidden, "none"] {
            #expect(
                try await code { try await host.value(operation, ["room": room], as: .user("carol")) }
                    == .recordNotFound)
        }
    }

    @Test func `every account may join a public room, but one that its owner banned`() async throws {
        let host = try await host()
        let room = try await room(host, isPublic: true)
        try await host.call("joinchatroom", ["room": room], as: .user("Bob"))
        #expect(
            try await code { try await host.value("banmember", ["room": room, "member": "alice"], as: .user("Bob")) }
                == .accessDenied)
        try await host.call("banmember", ["room": room, "member": "Bob"], as: .user("alice"))
        #expect(try await code { try await texts(host, ["room": room], as: "Bob") } == .recordNotFound)
        #expect(
            try await code { try await host.value("joinchatroom", ["room": room], as: .user("Bob")) } == .recordNotFound
        )
        #expect(
            try await code { try await host.value("invite", ["room": room, "member": "Bob"], as: .user("alice")) }
                == .accessDenied)
    }

    @Test func `a message is changed by its author, and removed by the author or the room's owner`() async throws {
        let host = try await host()
        let room = try await room(host, with: ["Bob", "carol"])
        let id = try #require(try await post("x", in: room, by: "Bob", on: host)["id"])
        for name in ["alice", "carol"] {
            #expect(
                try await code {
                    try await host.value("editmessage", ["message": id, "text": "y"], as: .user(name))
                } == .accessDenied)
        }
        #expect(
            try await code { try await host.value("deletemessage", ["message": id], as: .user("carol")) }
                == .accessDenied)
        try await host.call("editmessage", ["message": id, "text": "y"], as: .user("Bob"))
        #expect(try await texts(host, ["room": room], as: "carol") == ["y"])
        try await host.call("deletemessage", ["message": id], as: .user("alice"))
        #expect(try await texts(host, ["room": room], as: "carol").isEmpty)
    }

    @Test func `unread are the messages of others after the mark, which only moves forward`() async throws {
        let host = try await host()
        let room = try await room(host, with: ["Bob"])
        let first = try await post("1", in: room, by: "Bob", on: host)
        let second = try await post("2", in: room, by: "Bob", on: host)
        _ = try await post("3", in: room, by: "alice", on: host)
        func unread() async throws -> WireValue? {
            try await host.value("getunread", as: .user("alice"))["rooms"]?.arrayValue?.first?["unread"]
        }
        func mark(_ message: WireValue) async throws -> WireValue? {
            let input = try ["room": room, "message": #require(message["id"])] as WireDictionary
            return try await host.value("markread", input, as: .user("alice"))["seq"]
        }
        #expect(try await unread() == 2)
        #expect(try await mark(second) == second["seq"])
        #expect(try await mark(first) == second["seq"])
        #expect(try await unread() == 0)
    }

    @Test func `the echo never carries a device's token`() async throws {
        let host = try await host(["echo": true])
        let answer = try await host.value("twaddle", ["function": "registerdevice", "token": "s3cret"])
        #expect(answer["request"] == ["function": "registerdevice", "token": "[removed]"])
    }

    @Test func `the echo never carries what nested secrets hold`() async throws {
        let host = try await host(["echo": true])
        let request: WireDictionary = [
            "function": "getusers", "deviceToken": "s3cret", "API-Key": "s3cret", "kept": "shown",
            "nested": ["PassWord": "s3cret", "list": [["access_token": "s3cret", "name": "shown"]]],
        ]
        let answer = try await host.value("twaddle", request)
        #expect(
            answer["request"] == [
                "function": "getusers", "deviceToken": "[removed]", "API-Key": "[removed]", "kept": "shown",
                "nested": ["PassWord": "[removed]", "list": [["access_token": "[removed]", "name": "shown"]]],
            ])
    }

    @Test func `pages of public rooms hold every room once, whatever their names`() async throws {
        let host = try await host()
        var created: Set<String> = []
        for number in 0..<9 {
            let name = WireValue.string(["Same", "Other", "Same", "Same"][number % 4])
            let answer = try await host.value("createchatroom", ["name": name, "isPublic": true], as: .user("alice"))
            created.insert(try #require(answer["room"]?["id"]?.stringValue))
        }
        var found: [String] = []
        var next: WireDictionary = ["limit": 2]
        while true {
            let page = try await host.value("getpublicrooms", next, as: .user("Bob"))
            let rooms = page["rooms"]?.arrayValue ?? []
            found += rooms.compactMap { $0["id"]?.stringValue }
            guard let last = rooms.last, found.count < 20 else { break }
            next["after"] = last["name"]
            next["afterRoom"] = last["id"]
        }
        #expect(found.count == created.count)
        #expect(Set(found) == created)
    }
}
