import AdapterKit
import HTTPTypes
import Testing

@testable import Gateway

@Suite struct PathClaimsTests {
    @Test func `paths are claimed by one adapter each, whatever their parameters are called, or by the gateway`() throws
    {
        var settings = GatewaySettings()
        settings.portalLogin = "/portal"
        var claims = PathClaims(of: settings)
        let first = try declaration("first", [.init(.get, "/a/{x}"), .init(.post, "/a/{x}")])
        #expect(claims.take(first) == nil)
        let second = try declaration("second", [.init(.get, "/b"), .init(.post, "/a/{y}")])
        let problem = "Two endpoints claim POST /a/{y}: one of the adapter first and one of the adapter second."
        #expect(claims.take(second) == problem)
        // What was refused has taken nothing.
        #expect(claims.take(try declaration("third", [.init(.get, "/b")])) == nil)
        #expect(claims.take(try declaration("portal", [.init(.post, "/portal")]))?.contains("sign-in") == true)
        #expect(
            claims.take(try declaration("twice", [.init(.get, "/t"), .init(.get, "/t")]))?.contains(
                "one of the adapter twice") == true)
    }

    @Test func `what is left of a declaration has none of the claimed paths`() throws {
        var claims = PathClaims(of: GatewaySettings())
        #expect(claims.take(try declaration("first", [.init(.get, "/a")])) == nil)
        let second = AdapterDeclaration(
            name: "second", title: "", summary: "", version: "1",
            operations: [operation("taken", [.init(.get, "/a")]), operation("free", [])],
            soapServices: [SOAPService("S", namespace: "n", paths: ["/soap"], operations: ["taken"])])
        let left = try #require(claims.untaken(of: second))
        #expect(left.operations.map(\.name) == ["free"] && left.soapServices.isEmpty)
        #expect(claims.take(left) == nil)
        // An entity's paths cannot be left out alone.
        let entity = Entity("things", summary: "", key: EntityKey("id"), fields: [Field("id", .string)])
        let third = AdapterDeclaration(name: "third", title: "", summary: "", version: "1", entities: [entity])
        #expect(claims.take(try declaration("thief", [.init(.get, "/api/v1/third/{any}")])) == nil)
        #expect(claims.untaken(of: third) == third)
        #expect(claims.take(try declaration("other", [.init(.get, "/api/v1/third/things")])) == nil)
        #expect(claims.untaken(of: third) == nil)
    }

    private func declaration(_ name: AdapterName, _ bindings: [HTTPBinding]) throws -> AdapterDeclaration {
        AdapterDeclaration(
            name: name, title: "", summary: "", version: "1", operations: [operation("operation", bindings)])
    }

    private func operation(_ name: OperationName, _ bindings: [HTTPBinding]) -> Operation {
        Operation(name, summary: "", effect: .reads, output: .any, bindings: bindings)
    }
}

@Suite struct MirrorRoutesTests {
    @Test(arguments: [
        (MirrorSource.Writing.through, [MirrorChange.Kind.update], ["GET", "GET", "PATCH", "POST"]),
        (.queued, [.create, .delete], ["DELETE", "GET", "GET", "POST", "POST"]),
        (.none, [], ["DELETE", "GET", "GET", "PATCH", "POST", "POST", "PUT"]),
    ])
    func `only changes that the other system takes have routes`(
        writing: MirrorSource.Writing, changes: [MirrorChange.Kind], methods: [String]
    ) {
        let declaration = AdapterDeclaration(
            name: "probe", title: "", summary: "", version: "1",
            entities: [Entity("rows", summary: "", key: EntityKey("id"), fields: [Field("id", .string)])],
            mirrors: [MirrorSource("rows", of: "hr", writing: writing, changes: Set(changes))])
        #expect(declaration.endpoints.map(\.method.rawValue).sorted() == methods)
    }
}
