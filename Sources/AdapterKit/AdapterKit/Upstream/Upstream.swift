/// A system that this gateway calls, as `upstreams.{name}` of the configuration describes it: the address, the
/// credentials, the networks and the limits are the host's. An adapter never sees a credential.
///
/// Every call has a deadline: the request's own, otherwise the upstream's, and never later than the one of the call or
/// of the mounted request that is being answered (``CallContext``). Safe to call from any number of tasks.
public protocol Upstream: Sendable {
    /// The name of the upstream in the configuration.
    var name: UpstreamName { get }

    /// The configured address. Its path ends in a slash, so that ``UpstreamAddress/resolving(_:)`` appends to it.
    var url: UpstreamAddress { get }

    /// Whether calls are made in a caller's name (`portal`, `exchange`) instead of the system's own.
    var actsForCallers: Bool { get }

    /// Sends the request and returns when the head of the answer is there, whatever its status. The body arrives by
    /// pieces, decompressed, as fast as it is read.
    ///
    /// `caller`: in whose name the call is made where ``actsForCallers``; other upstreams ignore it. Throws
    /// ``UpstreamFailure/Kind/signInRequired`` where a caller is needed and there is none, or none with a session there.
    /// Ends with the task that waits.
    func stream(_ request: UpstreamRequest, for caller: Principal?) async throws(UpstreamFailure) -> UpstreamStream

    /// Sends the request and returns the whole answer, whatever its status. As ``stream(_:for:)``, except that an
    /// idempotent request whose answer broke off is tried again too.
    func send(_ request: UpstreamRequest, for caller: Principal?) async throws(UpstreamFailure) -> UpstreamResponse
}

extension Upstream {
    /// Sends the request in the system's own name.
    public func stream(_ request: UpstreamRequest) async throws(UpstreamFailure) -> UpstreamStream {
        try await stream(request, for: nil)
    }

    /// Sends the request in the system's own name and returns the whole answer.
    public func send(_ request: UpstreamRequest) async throws(UpstreamFailure) -> UpstreamResponse {
        try await send(request, for: nil)
    }

    public func send(
        _ request: UpstreamRequest, for caller: Principal?
    ) async throws(UpstreamFailure) -> UpstreamResponse {
        try await stream(request, for: caller).collected()
    }
}

/// The answer of another system whose body is still to be read.
public struct UpstreamStream: Sendable {
    /// From where, once redirects were followed.
    public let address: UpstreamAddress
    /// The status code.
    public let status: Int
    /// The header fields. `Content-Encoding` and `Content-Length` of a decompressed body are left out.
    public let fields: UpstreamHeaders
    /// The body after content coding, within the request's limit. The next piece is asked of the other side when this one
    /// has been taken. What is not read to its end is cancelled when the last reference goes.
    public let body: any UpstreamBody

    /// Creates a response with these values.
    public init(address: UpstreamAddress, status: Int, fields: UpstreamHeaders, body: any UpstreamBody) {
        self.address = address
        self.status = status
        self.fields = fields
        self.body = body
    }

    /// Whether the status is one of success (200 to 299).
    public var isSuccess: Bool { (200..<300).contains(status) }

    /// With the rest of the body in memory.
    public func collected() async throws(UpstreamFailure) -> UpstreamResponse {
        var bytes: [UInt8] = []
        while let piece = try await body.nextPiece() { bytes += piece }
        return UpstreamResponse(address: address, status: status, fields: fields, body: bytes)
    }
}

/// The body of an ``UpstreamStream``. It can be the body of a mount's response as it is.
public protocol UpstreamBody: ByteStream {
    /// The next piece, which is not empty; nil at the end. One caller at a time.
    func nextPiece() async throws(UpstreamFailure) -> [UInt8]?
}

extension UpstreamBody {
    /// As ``nextPiece()``, without its error's type.
    public func next() async throws -> [UInt8]? { try await nextPiece() }
}

/// The request that is being answered, as far as calls of other systems need to know it.
///
/// The gateway binds ``current`` around every request, so that it reaches every upstream call below it, through adapters
/// and plugins. Nil: no caller waits, as in a refresh by schedule.
public struct CallContext: Sendable {
    /// The context of the task at hand, and of the tasks that it starts.
    @TaskLocal public static var current: CallContext?

    /// Whether an operator tries another system: a call is then made although the server's circuit breaker is open, and
    /// its outcome counts as that of a half-open breaker.
    @TaskLocal public static var isOperatorTry = false

    /// When the gateway stops waiting. No upstream call below it lasts longer.
    public var deadline: ContinuousClock.Instant
    /// The id of the request, as it stands in the response and in the log.
    public var requestID: String
    /// `traceparent` as the caller sent it (W3C Trace Context), unchecked; nil: none.
    public var traceParent: String?
    /// `tracestate` as the caller sent it; nil: none.
    public var traceState: String?
    /// The sign-in with which the caller asks, to which what other systems give in the caller's name belongs; nil: none. It
    /// stays in the gateway's process.
    public var signIn: String?

    /// Creates a context with these values.
    public init(
        deadline: ContinuousClock.Instant, requestID: String, traceParent: String? = nil, traceState: String? = nil
    ) {
        self.deadline = deadline
        self.requestID = requestID
        self.traceParent = traceParent
        self.traceState = traceState
    }
}
