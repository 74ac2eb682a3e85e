import AcmeAdapter
import AdapterKit
import AdapterTesting
import Testing

@Suite struct AcmeTests {
    @Test func `The adapter conforms`() async {
        let conformance = AdapterConformance(
            AcmeModule.self, examples: [.init("summarize", ["numbers": [1, 2.5]])])
        let problems = await conformance.problems()
        #expect(problems == [])
    }

    @Test func `Numbers have a count, a sum and a mean`() async throws {
        let host = try await TestHost(AcmeModule.self)
        let answer = try await host.value("summarize", ["numbers": [1, 2.5, 4]])
        #expect(answer == ["count": 3, "sum": 7.5, "mean": 2.5])
    }

    @Test func `No numbers have no mean`() async throws {
        let host = try await TestHost(AcmeModule.self)
        let failure = await #expect(throws: PorticoError.self) { try await host.call("summarize", ["numbers": []]) }
        #expect(failure?.code == .requestInvalid && failure?.target == "numbers")
    }
}
