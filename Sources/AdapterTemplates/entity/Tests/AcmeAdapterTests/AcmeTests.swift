import AcmeAdapter
import AdapterKit
import AdapterTesting
import Testing

@Suite struct AcmeTests {
    @Test func `The adapter conforms`() async {
        let problems = await AdapterConformance(AcmeModule.self, examples: []).problems()
        #expect(problems == [])
    }

    @Test func `One sees one's own items and no others`() async throws {
        let host = try await TestHost(AcmeModule.self)
        try await host.records.seen(by: .user("alice")).create(["title": "Call Bob"], id: "a", in: "items")
        #expect(try await host.records.seen(by: .user("alice")).record("a", in: "items")?["isDone"] == false)
        #expect(try await host.records.seen(by: .user("bob")).record("a", in: "items") == nil)
    }
}
