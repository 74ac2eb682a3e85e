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

    private let portal = Started()

    func start(_ context: AdapterContext) async throws { await portal.set(context.callerUpstream) }

    func handle(_ call: Call) async throws -> OperationResult {
        guard let portal = await portal.value, let page = UpstreamAddress("https://erp.example.com/balance") else {
            throw PorticoError(.adapterUnavailable, "No portal is configured.")
        }
        let response = try await portal.send(UpstreamRequest(.get, page), for: call)
        return .value(["text": .string(String(decoding: response.body, as: UTF8.self))])
    }

    private actor Started {
        private(set) var value: (any CallerUpstream)?

        func set(_ portal: (any CallerUpstream)?) { value = portal }
    }
}

@Suite struct ScriptedPortalTests {
    @Test func `an adapter asks the portal in its callers' names`() async throws {
        let portal = ScriptedPortal { caller, request in
            guard caller.name != "stranger" else { throw PorticoError(.loginRequired, "This needs a new login.") }
            return UpstreamResponse(address: request.address, status: 200, fields: [:], body: Array(caller.name.utf8))
        }
        let host = try await TestHost(Balances.Module.self, portal: portal)
        for name in ["ann", "ben"] {
            #expect(try await host.value("balance", as: user(name))["text"]?.stringValue == name)
        }
        let refused = await #expect(throws: PorticoError.self) { try await host.call("balance", as: user("stranger")) }
        #expect(refused?.code == .loginRequired)
        #expect(portal.asked.map(\.caller.name) == ["ann", "ben", "stranger"])
    }

    @Test func `without a portal in the configuration there is none`() async throws {
        let host = try await TestHost(Balances.Module.self)
        let refused = await #expect(throws: PorticoError.self) { try await host.call("balance", as: user("ann")) }
        #expect(refused?.code == .adapterUnavailable)
    }

    private func user(_ name: String) -> Principal { Principal(kind: .user, id: name, name: name) }
}
