import ValueTree
import WireFormats

/// What carries calls to a server in somebody's name: a ``Session`` at a gateway, a ``PortalSession`` at an older system.
public protocol ODataCarrier: Sendable {
    /// Whatever the answer's status is.
    ///
    /// - Throws: ``ClientError`` without an answer, `signInEnded` for 401; `CancellationError`.
    func response(to call: ServerCall) async throws -> TransportResponse
}

extension Session: ODataCarrier {}

/// One OData service at one server. What generated services stand on.
public struct ODataConnection: Sendable {
    let carrier: any ODataCarrier
    /// Of the service, from the server's address on.
    let root: [String]
    public let version: ODataVersion
    private let guardToken = RequestToken()

    public init(_ carrier: any ODataCarrier, root: [String], version: ODataVersion) {
        (self.carrier, self.root, self.version) = (carrier, root, version)
    }

    /// Sends and waits for an answer of status 2xx.
    ///
    /// - Throws: ``ClientError``; what a refusal is about is its ``Refusal/target``.
    func send(_ call: ODataCall) async throws -> TransportResponse {
        var response = try await carrier.response(to: serverCall(call, token: await guardToken.value))
        if response.status == 403, call.method != "GET", response.asksForToken {
            // The token has ended, or there was none. Nothing was made, so the same may be sent again, once.
            try await fetchToken()
            response = try await carrier.response(to: serverCall(call, token: await guardToken.value))
        }
        guard response.isSuccess else { throw ClientError.refused(response.odataRefusal) }
        return response
    }

    func json(_ call: ODataCall) async throws -> WireValue {
        try await send(call).odataJSON()
    }

    private func fetchToken() async throws {
        var call = ODataCall("GET", [])
        call.headers = [Header("X-CSRF-Token", "Fetch")]
        let response = try await carrier.response(to: serverCall(call, token: nil))
        guard let token = response.header("x-csrf-token") else {
            throw ClientError.unreadableAnswer("a service that asks for a token and gives none")
        }
        await guardToken.keep(token)
    }

    private func serverCall(_ call: ODataCall, token: String?) throws -> ServerCall {
        var made = ServerCall(call.method, path: root + call.path, query: call.query, headers: call.headers)
        func add(_ name: String, _ value: String) {
            guard !made.headers.contains(where: { $0.name.lowercased() == name.lowercased() }) else { return }
            made.headers.append(Header(name, value))
        }
        for (name, value) in version.headers { add(name, value) }
        if let token, call.method != "GET" { add("X-CSRF-Token", token) }
        switch call.body {
        case nil: break
        case .json(let value): made.body = .bytes(try ODataCall.bytes(value), type: version.mediaType)
        case .bytes(let bytes, let type): made.body = .bytes(bytes, type: type)
        }
        return made
    }
}

/// The token that modifying requests must carry where a service asks for one; bound to the carrier's sign-in.
actor RequestToken {
    private(set) var value: String?

    func keep(_ token: String) { value = token }
}

/// One request to a service, from its root on.
struct ODataCall: Sendable {
    enum Body: Sendable {
        case json(WireValue)
        case bytes([UInt8], type: String)
    }

    var method: String
    var path: [String]
    var query: [(name: String, value: String)] = []
    var headers: [Header] = []
    var body: Body?

    init(_ method: String, _ path: [String], body: WireValue? = nil) {
        (self.method, self.path) = (method, path)
        self.body = body.map { .json($0) }
    }

    static func bytes(_ value: WireValue) throws(ClientError) -> [UInt8] {
        do {
            return try JSONFormat().write(value)
        } catch {
            throw .unreadableAnswer("a value that cannot be sent: \(error.description)")
        }
    }
}

extension ODataVersion {
    /// Of bodies.
    var mediaType: String { self == .v2 ? "application/json" : "application/json;IEEE754Compatible=true" }

    /// What every request says of itself.
    var headers: [(String, String)] {
        switch self {
        case .v4:
            [
                ("Accept", "application/json;odata.metadata=minimal;IEEE754Compatible=true"),
                ("OData-MaxVersion", "4.01"),
                ("OData-Version", "4.0"),
            ]
        case .v2:
            [("Accept", "application/json"), ("DataServiceVersion", "2.0"), ("MaxDataServiceVersion", "2.0")]
        }
    }
}
