import ValueTree
import WireFormats

/// Sends calls to a server in an account's name: a ``Session`` at a gateway, a ``PortalSession`` at an older system.
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
    /// The path of the service, from the server's address on.
    let root: [String]
    /// The protocol's version, which every request is written in.
    public let version: ODataVersion
    private let guardToken = RequestToken()

    /// A service whose root has those path segments.
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
    /// The media type of bodies.
    var mediaType: String { self == .v2 ? "application/json" : "application/json;IEEE754Compatible=true" }

    /// The header fields of every request.
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

extension TransportResponse {
    /// The body as JSON; null where there is none.
    func odataJSON() throws(ClientError) -> WireValue {
        guard !body.isEmpty else { return .null }
        do {
            return try JSONFormat().read(body)
        } catch {
            throw .unreadableAnswer(error.description)
        }
    }

    var asksForToken: Bool { header("x-csrf-token")?.lowercased() == "required" }

    /// Either version's error (JSON Format 4.01, section 21.1; version 2's message is an object).
    var odataRefusal: Refusal {
        let error = try? odataJSON()["error"]
        func message(_ value: WireValue?) -> String? { value?.stringValue ?? value?["value"]?.stringValue }
        let inner = error?["innererror"]?["errordetails"] ?? error?["innererror"]?["errordetail"]
        let details = (error?["details"] ?? inner)?.arrayValue ?? []
        return Refusal(
            status: status, code: error?["code"]?.stringValue ?? "",
            message: message(error?["message"]) ?? "The server answered \(status).",
            requestID: error?["requestId"]?.stringValue ?? header("x-request-id"),
            retryAfter: header("retry-after").flatMap { Int64($0) }.map { .seconds($0) },
            target: (error?["target"] ?? error?["innererror"]?["target"])?.stringValue,
            details: details.map {
                Refusal.Detail(
                    code: $0["code"]?.stringValue ?? "", message: message($0["message"]) ?? "",
                    target: ($0["target"] ?? $0["propertyref"])?.stringValue)
            })
    }
}

/// The content of answers, of whichever version.
struct ODataResponse {
    private let json: WireValue
    private let version: ODataVersion

    init(_ json: WireValue, _ version: ODataVersion) {
        self.json = version == .v2 ? json["d"] ?? json : json
        self.version = version
    }

    /// An entity, or a complex value.
    func structure<Target: ODataStructure>() throws -> Target {
        try Target(ODataRow(json, version))
    }

    var items: [WireValue]? {
        version == .v2 ? json.arrayValue ?? json["results"]?.arrayValue : json["value"]?.arrayValue
    }

    var count: Int64? { text("__count", "count").flatMap { Int64($0) } }
    var nextLink: String? { text("__next", "nextLink") }
    var deltaLink: String? { text("__delta", "deltaLink") }

    /// A value that stands alone: version 2 has it under the name of what was asked for.
    func value(_ name: String) -> WireValue? {
        version == .v2 ? json[name] ?? json : json["value"]
    }

    private func text(_ name: String, _ annotation: String) -> String? {
        version == .v2 ? json[name]?.numberText : (json["@odata." + annotation] ?? json["@" + annotation])?.numberText
    }
}
