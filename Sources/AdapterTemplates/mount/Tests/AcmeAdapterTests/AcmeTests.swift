import AcmeAdapter
import AdapterKit
import AdapterTesting
import Testing

@Suite struct AcmeTests {
    private func answer(_ target: String) async throws -> MountResponse {
        let host = try await TestHost(AcmeModule.self)
        return try await host.adapter.handle(
            MountRequest(
                mount: "greetings", method: "GET", target: target, origin: "", headers: [:], body: [],
                caller: .testUser,
                requestID: "test", deadline: .now + .seconds(60), records: host.records.seen(by: .testUser),
                log: .discarding))
    }

    private func text(_ response: MountResponse) -> String? {
        guard case .bytes(let bytes) = response.body else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test func `The adapter conforms`() async {
        let problems = await AdapterConformance(AcmeModule.self, examples: []).problems()
        #expect(problems == [])
    }

    @Test func `It greets the person whom the path names`() async throws {
        let response = try await answer("/acme/hello/Ada?loudly")
        #expect(response.status == 200 && text(response) == "Hello, Ada!\n")
    }

    @Test(arguments: ["/acme", "/acme/hello", "/acme/hello/", "/acme/hello/%41", "/acme/hello/a/b", ""])
    func `Another path is not found`(target: String) async throws {
        let failure = await #expect(throws: PorticoError.self) { try await answer(target) }
        #expect(failure?.code == .routeNotFound)
    }
}
