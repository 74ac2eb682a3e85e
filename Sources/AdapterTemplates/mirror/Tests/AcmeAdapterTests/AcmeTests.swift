import AcmeAdapter
import AdapterKit
import AdapterTesting
import Testing

@Suite struct AcmeTests {
    private static let configuration: WireDictionary = ["upstream": "other-system"]

    @Sendable private static func answer(
        _ request: UpstreamRequest, _ caller: Principal?
    ) async throws(UpstreamFailure) -> UpstreamResponse {
        UpstreamResponse(
            address: request.address, status: 200, fields: ["Content-Type": "application/json"],
            body: Array(
                #"[{"id": "1", "name": "Bolt", "price": 0.25}, {"id": "2", "name": "Nut", "price": null}]"#.utf8))
    }

    private func system() throws -> ScriptedUpstream {
        ScriptedUpstream(
            name: "other-system", url: try #require(UpstreamAddress("https://system.invalid/")), answer: Self.answer)
    }

    @Test func `The adapter conforms`() async throws {
        let conformance = AdapterConformance(
            AcmeModule.self, configuration: AdapterConfiguration(Self.configuration), upstream: try system(),
            examples: [])
        let problems = await conformance.problems()
        #expect(problems == [])
    }

    @Test func `No answer that lies is taken for items`() async {
        let conformance = MirrorConformance(
            AcmeModule.self, "items", configuration: Self.configuration, answer: Self.answer)
        let problems = await conformance.problems()
        #expect(problems == [])
    }

    @Test func `The items are those of the other system`() async throws {
        let host = try await TestHost(
            AcmeModule.self, AdapterConfiguration(Self.configuration), upstream: try system())
        try await host.refreshMirrors()
        #expect(try await host.records.seen(by: .testUser).record("1", in: "items")?["name"] == "Bolt")
    }
}
