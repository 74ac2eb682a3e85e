import AdapterKit
import Testing

@testable import Gateway

@Suite struct ReservedPathsTests {
    @Test func `no adapter can declare a path where the gateway has routes of its own`() async throws {
        let host = try await NotesGateway { settings in
            // It is where the configuration says.
            settings.portalLogin = nil
            settings.hasProviderPages = true
        }
        let table = host.gateway.routes
        func hasOwnRoute(_ position: Int) -> Bool {
            let node = table.nodes[position]
            let below = Array(node.literals.values) + [node.parameter, node.remainder].compactMap(\.self)
            return node.entries.values.contains { $0.endpoint.properties.adapter == nil }
                || below.contains(where: hasOwnRoute)
        }
        #expect(table.nodes[0].parameter == nil && table.nodes[0].remainder == nil)
        let own = Set(table.nodes[0].literals.filter { hasOwnRoute($0.value) }.keys)
        #expect(own.isSuperset(of: ["", "auth", "batch", "errors", "favicon.ico", "health", "openapi.json", "sync"]))
        #expect(own.subtracting(AdapterDeclaration.reservedSegments) == [])
    }
}
