import AdapterKit
import AdapterTesting
import TasksAdapter
import Testing

@Suite struct TasksTests {
    private static let sample: WireDictionary = ["id": "a", "title": "Call Carol", "sharedWith": ["bob"]]

    private func host() async throws -> TestHost {
        let host = try await TestHost(TasksModule.self)
        try await host.records.seen(by: .user("alice")).create(Self.sample, in: "items")
        return host
    }

    @Test func `An item is finished by those who see it`() async throws {
        let host = try await host()
        try await host.call("finish", ["id": "a"], as: .user("bob"))
        #expect(try await host.records.seen(by: .user("alice")).record("a", in: "items")?["isDone"] == true)
    }

    @Test func `An item that one does not see is as good as none`() async throws {
        let host = try await host()
        let failure = await #expect(throws: PorticoError.self) {
            try await host.call("finish", ["id": "a"], as: .user("carol"))
        }
        #expect(failure?.code == .recordNotFound)
    }
}
