/// The limits of the gateway, each by its name in the configuration reference.
public struct GatewayLimits: Sendable, Equatable {
    /// `http.limits.body`: bytes of a request's body, after decompression too.
    public var body = 8 << 20
    /// `http.limits.expansion`: how many times larger a compressed body may become.
    public var expansion = 100
    /// `http.limits.uri`: bytes of path and query.
    public var uri = 8 << 10
    /// `http.limits.head`: bytes of all header fields.
    public var head = 32 << 10
    /// `http.limits.fields`: how many header fields.
    public var fields = 100
    /// `http.limits.depth`: nesting of a body's containers.
    public var depth = 128
    /// `http.limits.values`: values in a body.
    public var values = 1_000_000
    /// `http.limits.formFields`: fields of a form.
    public var formFields = 1_000
    /// `http.limits.formField`: bytes of one field of a form, its name and its value as they are sent.
    public var formField = 1 << 20
    /// `http.limits.page`: records of a page.
    public var page = 1_000
    /// `http.limits.pageBytes`: about how large a page's records are together; one record may be larger.
    public var pageBytes = 8 << 20
    /// `http.limits.batch`: calls in a batch.
    public var batch = 100
    /// `http.limits.batchParallel`: calls of a batch under way at once.
    public var batchParallel = 8
    /// `http.limits.batchAnswer`: bytes of the bodies that the calls of one batch answer.
    public var batchAnswer = 32 << 20
    /// `http.limits.filter`: bytes of a filter expression.
    public var filter = 4 << 10
    /// `http.limits.answerCache`: bytes of cached answers.
    public var answerCache = 24 << 20
    /// `http.limits.inFlight`: requests under way at once; more are answered 503, but for health.
    public var inFlight = 1_024
    /// `http.limits.inFlightPerCaller`: adapters' requests of one caller under way at once.
    public var inFlightPerCaller = 256
    /// `http.limits.inFlightPerAdapter`: requests to one adapter under way at once.
    public var inFlightPerAdapter = 768
    /// `http.limits.urgent`: places beyond ``inFlight`` for what is cheap and urgent.
    public var urgent = 64
    /// `http.limits.incompletePerAddress`: requests of one address whose bodies are waited for at once; 0: a quarter of
    /// ``inFlight``.
    public var incompletePerAddress = 0
    /// `http.limits.queuePerCaller`: requests of one caller that wait for a place at most.
    public var queuePerCaller = 512
    /// `http.limits.queuePerAdapter`: requests to one adapter that wait for a place at most.
    public var queuePerAdapter = 1024
    /// `limits.routes`: of one caller to one path and what is below it.
    public var routes: [RouteRate] = []
    /// `limits.requestsPerMinute`: of one caller, by its account or, without one, its address; 0: any number.
    public var requestsPerMinute = 0
    /// `limits.addressRequestsPerMinute`: from one address, of all its callers; 0: any number.
    public var addressRequestsPerMinute = 0
    /// `http.limits.import`: bytes of a file that an operator loads.
    public var importFile = 64 << 20
    /// `http.limits.chunk`: answers above it are written in pieces of this size.
    public var chunk = 64 << 10

    public init() {}

    /// Whether what callers, addresses and adapters may take is the same in both.
    func hasSameQuotas(as other: GatewayLimits) -> Bool {
        requestsPerMinute == other.requestsPerMinute && addressRequestsPerMinute == other.addressRequestsPerMinute
            && routes == other.routes && inFlightPerCaller == other.inFlightPerCaller
            && inFlightPerAdapter == other.inFlightPerAdapter && queuePerCaller == other.queuePerCaller
            && queuePerAdapter == other.queuePerAdapter && inFlight == other.inFlight
    }

    /// Places that one caller's requests take at most, under way and waiting: requests alone four fifths of
    /// `http.limits.inFlight`, batches beside them a quarter of that, so that a place is always left for another caller.
    private var callerPlaces: Int { max(1, (inFlight - 1) / 5 * 4) }

    /// Requests of one caller that are under way at once.
    var callerShare: Int { min(inFlightPerCaller, callerPlaces) }

    /// Requests of one caller that wait.
    var callerQueue: Int { min(queuePerCaller, callerPlaces - callerShare) }

    var incompleteShare: Int { incompletePerAddress > 0 ? incompletePerAddress : max(1, inFlight / 4) }
}

/// `limits.routes`: how often one caller may ask for a path and what is below it. Paths are compared by their decoded
/// segments, as routes are, so that an escape is no way around a limit.
public struct RouteRate: Sendable, Equatable {
    /// Such as `/auth/login`.
    public let path: String
    public let requestsPerMinute: Int
    private let segments: [String]

    public init(path: String, requestsPerMinute: Int) {
        self.path = path
        self.requestsPerMinute = requestsPerMinute
        let segments = RequestTarget(path)?.segments ?? []
        self.segments = segments.last == "" ? segments.dropLast() : segments
    }

    func covers(_ asked: RequestTarget) -> Bool {
        asked.segments.count >= segments.count
            && zip(asked.segments, segments).allSatisfy { $0.utf8.elementsEqual($1.utf8) }
    }
}
