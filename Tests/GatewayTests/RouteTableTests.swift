import AdapterKit
import HTTPTypes
import Testing

@testable import Gateway

private struct Marker: Endpoint {
    let properties: EndpointProperties
    let description = EndpointDescription(summary: "", tag: "")

    init(_ name: String, adapter: AdapterName? = nil) {
        properties = EndpointProperties(name: name, access: .public, effect: .reads, adapter: adapter)
    }

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse { GatewayResponse(.ok) }
}

private func table(_ routes: (HTTPRequest.Method, PathTemplate)...) throws -> RouteTable {
    try RouteTable(routes.map { Route($0, $1, Marker("\($0.rawValue) \($1)")) })
}

extension RouteTable {
    fileprivate func found(_ method: HTTPRequest.Method, _ path: String) -> String {
        switch match(method, RequestTarget(path)?.segments ?? []) {
        case .endpoint(let endpoint, let parameters):
            let texts = parameters.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
            return ([endpoint.properties.name] + texts).joined(separator: " ")
        case .otherMethod(let allowed): return "405 " + allowed.map(\.rawValue).joined(separator: ",")
        case .unknown: return "404"
        }
    }
}

@Suite struct RouteTableTests {
    @Test func `a literal wins over a parameter, whichever was added first`() throws {
        let table = try table((.get, "/v2/{userId}"), (.get, "/v2/list"), (.get, "/v2/user/{userId}"))
        #expect(table.found(.get, "/v2/list") == "GET /v2/list")
        #expect(table.found(.get, "/v2/7") == "GET /v2/{userId} userId=7")
        #expect(table.found(.get, "/v2/user/8") == "GET /v2/user/{userId} userId=8")
        #expect(table.found(.get, "/v2/user") == "GET /v2/{userId} userId=user")
    }

    @Test func `a literal that leads nowhere is left again`() throws {
        let table = try table((.get, "/a/b/c"), (.get, "/a/{x}/d"), (.get, "/a/{rest*}"))
        #expect(table.found(.get, "/a/b/d") == "GET /a/{x}/d x=b")
        #expect(table.found(.get, "/a/b/e/f") == "GET /a/{rest*} rest=b/e/f")
    }

    @Test func `a known path with another method tells what it takes`() throws {
        let table = try table((.get, "/x"), (.post, "/x"))
        #expect(table.found(.delete, "/x") == "405 GET,HEAD,OPTIONS,POST")
        #expect(table.found(.head, "/x") == "GET /x")
    }

    @Test func `a path that is nowhere has a neighbour where all around it are one adapter's`() throws {
        let paths: [(PathTemplate, AdapterName)] = [
            ("/sap/a/S", "odata"), ("/sap/a/S/{rest*}", "odata"), ("/sap/b/S", "odata"), ("/api/v1/notes", "notes"),
            ("/api/v1/feeds", "feeds"),
        ]
        let table = try RouteTable(paths.map { Route(.get, $0, Marker("\($0)", adapter: $1)) })
        #expect(table.neighbour(["sap", "a", "T", "x"])?.properties.name == "/sap/a/S/{rest*}")
        #expect(table.neighbour(["sap", "c"])?.properties.name == "/sap/b/S")
        #expect(table.neighbour(["api", "v1", "x"]) == nil && table.neighbour(["api"]) == nil)
        #expect(table.neighbour(["elsewhere"]) == nil && table.neighbour([]) == nil)
    }

    @Test func `an empty segment is no parameter, and the root is a path`() throws {
        let table = try table((.get, "/"), (.get, "/a/{x}"))
        #expect(table.found(.get, "/") == "GET /")
        #expect(table.found(.get, "/a/") == "404")
        #expect(table.found(.get, "//a/b") == "404")
    }

    @Test func `two routes of one method and path are a conflict`() {
        #expect(throws: RouteTable.Conflict(method: "GET", path: "/a/{y}", claimants: ["GET /a/{x}", "GET /a/{y}"])) {
            try table((.get, "/a/{x}"), (.get, "/a/{y}"))
        }
    }

    @Test(arguments: ["a", "", "http://h/p", "/%", "/%4", "/%zz", "/%00", "/%ff", "/?a=%zz"])
    func `a target that is not well-formed is none`(text: String) {
        #expect(RequestTarget(text) == nil)
    }

    @Test func `a target is decoded once, plus only in the query`() throws {
        let target = try #require(RequestTarget("/a%2Fb/c+d/%2541?x=1+2&y=%26&z"))
        #expect(target.segments == ["a/b", "c+d", "%41"])
        let marked = try #require(RequestTarget("/a/\u{301}b?\u{301}x&\u{301}y"))
        #expect(marked.segments == ["a", "\u{301}b"])
        #expect(marked.query.map(\.name) == ["\u{301}x", "\u{301}y"])
        #expect(target.query.map { [$0.name, $0.value] } == [["x", "1 2"], ["y", "&"], ["z", ""]])
    }
}
