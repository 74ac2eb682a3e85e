import AdapterKit
import AdapterTesting
import Chat
import Testing

/// What the chat refuses, and how devices come and go.
@Suite struct ChatLimitTests {
    private func host() async throws -> TestHost {
        try await TestHost(ChatModule.self, AdapterConfiguration([:]), accounts: ["alice", "Bob"])
    }

    @Test func `a message has only so many attachments, and is answered to what is there`() async throws {
        let host = try await host()
        let made = try await host.value("createchatroom", ["name": "Room"], as: .user("alice"))
        let room = try #require(made["room"]?["id"])
        let digests = (0..<21).map { number in
            WireValue.string(String(repeating: "0", count: 62) + (number < 10 ? "0\(number)" : "\(number)"))
        }
        let error = try await refusal {
            try await host.value(
                "postmessage", ["room": room, "text": "x", "attachments": .array(digests)], as: .user("alice"))
        }
        #expect(error?.code == .requestLimitExceeded || error?.code == .requestInvalid)
        #expect(error?.target?.hasPrefix("attachments") == true)
        for (operation, input) in [
            ("editmessage", ["message": "none", "text": "x"]), ("deletemessage", ["message": "none"]),
            ("postmessage", ["room": "none", "text": "x"]), ("markread", ["room": room, "message": "none"]),
            ("getmembers", ["room": "none"]),
        ] as [(OperationName, WireDictionary)] {
            #expect(
                try await refusal { try await host.value(operation, input, as: .user("alice")) }?.code
                    == .recordNotFound, "\(operation)")
        }
    }

    @Test func `a device that was registered is unregistered by its owner alone`() async throws {
        let host = try await host()
        try await host.call("registerdevice", ["token": "t1", "platform": "apns"], as: .user("alice"))
        try await host.call("registerdevice", ["token": "t1", "platform": "apns"], as: .user("alice"))
        try await host.call("unregisterdevice", ["token": "t1"], as: .user("Bob"))
        try await host.call("unregisterdevice", ["token": "t1"], as: .user("alice"))
        try await host.call("unregisterdevice", ["token": "t1"], as: .user("alice"))
    }

    @Test func `no more people than the limit are invited at once, and nobody who is banned`() async throws {
        let host = try await host()
        let many = (0..<101).map { WireValue.string("p\($0)") }
        #expect(
            try await refusal {
                try await host.value("createchatroom", ["name": "R", "members": .array(many)], as: .user("alice"))
            } != nil)
        let made = try await host.value("createchatroom", ["name": "R", "members": ["Bob"]], as: .user("alice"))
        let room = try #require(made["room"]?["id"])
        try await host.call("banmember", ["room": room, "member": "Bob"], as: .user("alice"))
        #expect(
            try await refusal { try await host.value("invite", ["room": room, "member": "Bob"], as: .user("alice")) }
                != nil)
    }
}
