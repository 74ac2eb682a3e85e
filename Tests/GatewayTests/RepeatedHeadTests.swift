import AdapterKit
import HTTPTypes
import NIOHTTP1
import Testing

@testable import Gateway

@Suite struct RepeatedHeadTests {
    private var head = RepeatedHead()

    private mutating func fields(_ headers: HTTPHeaders) -> HTTPFields? {
        if let repeated = head.repeated(by: headers) { return repeated.fields }
        guard let fields = HTTPFields(withoutHost: headers) else { return nil }
        head.remember(RepeatedHead.ParsedFields(fields: fields, peer: "", origin: ""), of: headers)
        return fields
    }

    @Test mutating func `fields are read without the host, whether they repeat or not`() {
        let headers: HTTPHeaders = ["Host": "a", "Accept": "text/xml", "X-Twice": "1", "X-Twice": "2"]
        for _ in 0..<2 {
            let fields = fields(headers)
            #expect(fields?.map(\.value) == ["text/xml", "1", "2"])
        }
    }

    @Test mutating func `another value of the same length is another value`() {
        _ = fields(["Host": "a", "Authorization": "Bearer 12345678a"])
        #expect(
            fields(["Host": "a", "Authorization": "Bearer 12345678b"])?[.authorization] == "Bearer 12345678b")
        #expect(
            fields(["Host": "a", "Authorization": "Bearer x2345678b"])?[.authorization] == "Bearer x2345678b")
    }

    @Test mutating func `a field less or more, or of another name, is seen`() {
        _ = fields(["Accept": "a", "If-Match": "b"])
        #expect(fields(["Accept": "a"])?.count == 1)
        #expect(fields(["Accept": "a", "If-Match": "b", "Cookie": "c"])?.count == 3)
        #expect(fields(["Accept": "a", "If-Match": "b", "Accept": "c"])?[.cookie] == nil)
    }

    @Test mutating func `long fields are read each time`() {
        let long = String(repeating: "a", count: RepeatedHead.longest + 1)
        for value in [long, long + "b", long] {
            #expect(fields(["X-Long": value])?.first?.value == value)
        }
    }

    @Test mutating func `a broken address is none, and does not stay`() {
        #expect(head.target(of: "/a?b=1")?.segments == ["a"])
        #expect(head.target(of: "/%zz") == nil)
        #expect(head.target(of: "/a?b=1")?["b"] == "1")
        #expect(head.target(of: "/a?b=2")?["b"] == "2")
    }

    @Test mutating func `where an address leads is asked anew for another method, and another address`() throws {
        let routes = try RouteTable([
            Route(.get, "/a/{name}", Marked(name: "get")), Route(.post, "/a/{name}", Marked(name: "post")),
        ])
        let asked: [(HTTPRequest.Method, String, String)] = [
            (.get, "/a/b", "get b"), (.get, "/a/b", "get b"), (.post, "/a/b", "post b"), (.get, "/a/c", "get c"),
            (.get, "/b", "nowhere"), (.get, "/a/c", "get c"),
        ]
        for (method, uri, place) in asked {
            guard let target = head.target(of: uri) else { throw Broken() }
            #expect(Self.text(head.match(method, target, in: routes)) == place)
        }
    }

    private struct Broken: Error {}

    private static func text(_ match: RouteMatch) -> String {
        guard case .endpoint(let endpoint, let parameters) = match else { return "nowhere" }
        return ([endpoint.properties.name] + parameters.values).joined(separator: " ")
    }
}

private struct Marked: Endpoint {
    let properties: EndpointProperties
    let description = EndpointDescription(summary: "", tag: "")

    init(name: String) {
        properties = EndpointProperties(name: name, access: .public, effect: .reads)
    }

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse { GatewayResponse(.ok) }
}
