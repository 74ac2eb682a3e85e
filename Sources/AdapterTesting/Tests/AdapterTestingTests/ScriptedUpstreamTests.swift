import AdapterKit
import AdapterTesting
import Testing

/// An adapter whose records live in another system, which it asks in its callers' names.
private struct Balances: Adapter {
    enum Module: AdapterModule {
        static let name: AdapterName = "balances"

        static func declare(_ configuration: AdapterConfiguration) -> AdapterDeclaration {
            AdapterDeclaration(
                name: name, title: "Balances", summary: "What people own.", version: "1.0",
                operations: [
                    Operation(
                        "balance", summary: "The caller's own.", effect: .reads,
                        output: .object(ObjectShape("Balance", members: [Member("text", .string, isRequired: true)])))
                ])
        }

        static func make(_ configuration: AdapterConfiguration) -> any Adapter { Balances() }
    }

    private let upstream = Started()

    func start(_ context: AdapterContext) async throws { await upstream.set(context.upstream) }

    func handle(_ call: Call) async throws -> OperationResult {
        guard let upstream = await upstream.value, let page = upstream.url.resolving("balance") else {
            throw PorticoError(.adapterUnavailable, "No upstream is configured.")
        }
        let response = try await upstream.send(UpstreamRequest(.get, page), for: call.caller)
        return .value(["text": .string(String(decoding: response.body, as: UTF8.self))])
    }

    private actor Started {
        private(set) var value: (any Upstream)?

        func set(_ upstream: (any Upstream)?) { value = upstream }
    }
}

@Suite struct ScriptedUpstreamTests {
    @Test func `an adapter asks the upstream in its callers' names`() async throws {
        let url = try #require(UpstreamAddress("https://erp.example.com/services/"))
        let upstream = ScriptedUpstream(url: url, actsForCallers: true) { request, caller throws(UpstreamFailure) in
            guard let caller, caller.name != "stranger" else { throw UpstreamFailure(.signInRequired, of: "upstream") }
            return UpstreamResponse(address: request.address, status: 200, fields: [:], body: Array(caller.name.utf8))
        }
        let host = try await TestHost(Balances.Module.self, upstream: upstream)
        for name in ["ann", "ben"] {
            #expect(try await host.value("balance", as: user(name))["text"]?.stringValue == name)
        }
        let refused = await #expect(throws: UpstreamFailure.self) {
            try await host.call("balance", as: user("stranger"))
        }
        #expect(refused?.asError.code == .loginRequired)
        #expect(upstream.asked.map(\.caller?.name) == ["ann", "ben", "stranger"])
        #expect(upstream.asked.first?.request.address.target == "/services/balance")
    }

    @Test func `without an upstream in the configuration there is none`() async throws {
        let host = try await TestHost(Balances.Module.self)
        let refused = await #expect(throws: PorticoError.self) { try await host.call("balance", as: user("ann")) }
        #expect(refused?.code == .adapterUnavailable)
    }

    private func user(_ name: String) -> Principal { Principal(kind: .user, id: name, name: name) }
}
