import AdapterKit
import ODataEngine
import ODataLanguage

/// Limits of one request to any service: the keys below `adapters.odata.limits`, the same for all services.
struct ServiceLimits: Sendable {
    var language = LanguageLimits()
    var query = QueryLimits.standard
    var batch = BatchLimits()
    var async = AsyncLimits()
    /// How deep entities may be nested in each other when they are created.
    var insertDepth = 16
    /// Entities that one request creates.
    var insertEntities = 1_000
    /// Records that go or change with one that is deleted.
    var deletedWith = 20_000
    /// Rows of one request of an import: they are one transaction and are held in memory while it runs.
    var importRows = 200_000

    /// Bytes of an answer that is read as a whole before it is sent.
    var wholeBytes = 256 << 10
    /// Bytes of an answer that is read while it is sent.
    var answerBytes = 512 << 20
    /// Bytes of an answer that is held in memory as a whole however long it is: a page of changes, one of a JSON batch.
    var heldBytes = 64 << 20
    /// Seconds for which a longer answer is read while it is sent.
    var streamSeconds = 300

    /// Questions that each service remembers how to answer.
    var queryPlanCache = 256

    static let standard = ServiceLimits()

    init(_ values: WireDictionary = [:]) {
        for key in Self.keys {
            if let value = values[key.name]?.int64Value { self[keyPath: key.path] = Int(value) }
        }
    }

    private struct Key: Sendable {
        let name: String
        let path: any WritableKeyPath<ServiceLimits, Int> & Sendable
        let range: ClosedRange<Int64>
        let summary: String

        init(
            _ name: String, _ path: any WritableKeyPath<ServiceLimits, Int> & Sendable, to most: Int64,
            _ summary: String
        ) {
            self.name = name
            self.path = path
            range = 1...most
            self.summary = summary
        }
    }

    private static let keys = [
        Key("urlLength", \.language.length, to: 1 << 20, "Bytes of a request's path and query, `$query` included."),
        Key("depth", \.language.depth, to: 200, "Expressions, options and paths inside one another."),
        Key(
            "nodes", \.language.nodes, to: 100_000,
            "Operators, calls, literals and path segments of one request, about: four steps of the parser for each."),
        Key("listMembers", \.language.listMembers, to: 10_000, "Values to the right of one `in`."),
        Key("expandDepth", \.expandDepth, to: 32, "$expand inside $expand; each of $levels counts, and `max` is this."),
        Key("expansions", \.query.expansions, to: 10_000, "Navigation properties that one request expands."),
        Key(
            "expandedRows", \.query.expandedRows, to: 10_000_000,
            "Entities that the expansions of one row bring, all levels together; a whole page's where it is no list."),
        Key(
            "writtenRows", \.query.writtenRows, to: 100_000_000,
            "Entities that the expansions of one page write, each as often as it is written."),
        Key("orderCriteria", \.query.orderCriteria, to: 100, "Criteria of $orderby."),
        Key("skip", \.query.skip, to: 1 << 40, "The largest $skip."),
        Key("batchRequests", \.batch.requests, to: 100_000, "Requests of one batch."),
        Key("batchPart", \.batch.part, to: 1 << 30, "Bytes of one request of a batch, its header fields included."),
        Key("batchPartHead", \.batch.head, to: 1 << 20, "Bytes of the header fields of one request of a batch."),
        Key("batchPartFields", \.batch.fields, to: 1_000, "Header fields of one request of a batch."),
        Key("batchBoundary", \.batch.boundary, to: 70, "Characters of the boundary between a batch's parts."),
        Key("insertDepth", \.insertDepth, to: 64, "Entities nested in each other when they are created."),
        Key("insertEntities", \.insertEntities, to: 100_000, "Entities that one request creates."),
        Key("deletedWith", \.deletedWith, to: 1_000_000, "Records that go or change with a deleted one."),
        Key(
            "wholeBytes", \.wholeBytes, to: 1 << 26,
            "Bytes of an answer that is made before it is sent; what is longer is read while it is sent."),
        Key(
            "answerBytes", \.answerBytes, to: 1 << 40,
            "Bytes of an answer that is read while it is sent; then its connection ends."),
        Key(
            "heldBytes", \.heldBytes, to: 1 << 30,
            "Bytes of a page of changes, and of one answer of a batch in JSON or a change set: both are held in memory."
        ),
        Key(
            "streamSeconds", \.streamSeconds, to: 86_400,
            "Seconds for which a longer answer is read and sent; then its connection ends."),
        Key(
            "knownQuestions", \.queryPlanCache, to: 100_000,
            "Different addresses of a service that are remembered as they were read; up to 2 KiB each."),
        Key("asyncRunning", \.async.running, to: 10_000, "Requests with `respond-async` that are worked on at once."),
        Key("asyncRunningPerCaller", \.async.runningPerCaller, to: 10_000, "The same of one caller."),
        Key("asyncKept", \.async.kept, to: 100_000, "Answers that are kept until they are fetched later."),
        Key("asyncKeptPerCaller", \.async.keptPerCaller, to: 100_000, "The same of one caller; the oldest goes first."),
        Key(
            "asyncAnswerBytes", \.async.answerBytes, to: 1 << 40, "Bytes of one answer that is fetched later, on disk."),
        Key("asyncCallerBytes", \.async.callerBytes, to: 1 << 40, "The same of all answers of one caller."),
        Key("asyncBytes", \.async.bytes, to: 1 << 40, "The same of all answers of all callers."),
        Key(
            "asyncSeconds", \.async.seconds, to: 86_400,
            "Seconds for which a request with `respond-async` is worked on."),
        Key("asyncKeptSeconds", \.async.keptSeconds, to: 86_400, "Seconds for which its answer can be fetched."),
        Key(
            "importRows", \.importRows, to: 10_000_000,
            "Rows of one request of an import, which stand in memory and are one transaction. `porticoctl` sends a file as many."
        ),
    ]

    /// The parser and the planner go by one depth.
    private var expandDepth: Int {
        get { language.expandDepth }
        set {
            language.expandDepth = newValue
            query.expandDepth = newValue
        }
    }

    static let options = keys.map { key in
        ConfigurationOption(
            "limits.\(key.name)", .integer(IntegerRange(key.range)),
            defaultValue: .int64(Int64(standard[keyPath: key.path])), summary: key.summary)
    }
}

/// Limits of one batch. Change sets do not nest.
struct BatchLimits: Sendable {
    /// Requests, those of change sets included; a change set counts as one where it holds none.
    var requests = 1_000
    /// Bytes of one request: its part of a multipart body, or its body in JSON.
    var part = 8 << 20
    /// Bytes of its header fields, and of those of its part.
    var head = 16 << 10
    /// How many header fields, those of its part each by themselves.
    var fields = 100
    /// Characters of a boundary (RFC 2046, section 5.1.1, allows 70).
    var boundary = 70

    func checkRequests(_ count: Int) throws(PorticoError) {
        try check(count, requests, "A batch has at most \(requests) requests.")
    }

    func checkPart(_ bytes: Int) throws(PorticoError) {
        try check(bytes, part, "A request of a batch has at most \(part) bytes.")
    }

    func checkHead(fields count: Int, bytes: Int) throws(PorticoError) {
        try check(count, fields, "A request of a batch has at most \(fields) header fields.")
        try check(bytes, head, "The header fields of a batch's request have at most \(head) bytes.")
    }

    func checkBoundary(_ text: String) throws(PorticoError) {
        try check(text.utf8.count, boundary, "A boundary has at most \(boundary) characters.")
    }

    private func check(_ value: Int, _ most: Int, _ message: String) throws(PorticoError) {
        guard value <= most else { throw PorticoError(.requestLimitExceeded, message) }
    }
}

/// Limits of asynchronous requests and of their stored responses.
struct AsyncLimits: Sendable {
    /// Under way at once, for all callers together.
    var running = 64
    var runningPerCaller = 8
    /// Answers that are kept; the oldest of the caller that has the most goes first.
    var kept = 1_000
    var keptPerCaller = 100
    /// Bytes of one answer, of a caller's, and of all.
    var answerBytes = 256 << 20
    var callerBytes = 256 << 20
    var bytes = 1 << 30
    /// Seconds for which a request may be worked on, and for which its answer can be fetched.
    var seconds = 300
    var keptSeconds = 900
}
