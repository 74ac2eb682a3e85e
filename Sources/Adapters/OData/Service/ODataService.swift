import AdapterKit
import ODataEngine
import ODataLanguage
import ODataModel
import Synchronization

/// The shared state of one service: configuration, documents, operations, caches and asynchronous responses. A class,
/// so that handlers share it without copying.
final class ODataService: Sendable {
    let configuration: ServiceConfiguration
    let documents: ServiceDocuments
    let operations: ServiceOperationTable
    let clock: any WallClock
    let gate: ReseedGate
    let asyncResponses: AsyncResponses
    let longResponses = LongResponseHistory()
    let queryPlans: QueryPlanCache
    /// All of the service's records, for loading the seed.
    let own: any RecordStore
    /// Sets that another system is asked for; nil: there are none.
    let called: (any CalledEntities)?

    init(
        configuration: ServiceConfiguration, documents: ServiceDocuments, operations: ServiceOperationTable,
        clock: any WallClock, gate: ReseedGate, asyncResponses: AsyncResponses, queryPlans: QueryPlanCache,
        own: any RecordStore, called: (any CalledEntities)? = nil
    ) {
        self.configuration = configuration
        self.documents = documents
        self.operations = operations
        self.clock = clock
        self.gate = gate
        self.asyncResponses = asyncResponses
        self.queryPlans = queryPlans
        self.own = own
        self.called = called
        rootPath = "/odata/v4/\(configuration.name)"
    }

    var tables: ServiceTables { configuration.tables }
    let rootPath: String

    /// Not while the seed is loaded anew.
    func betweenReseeds(_ answer: () async throws -> MountResponse) async throws -> MountResponse {
        try await gate.enter()
        do {
            let answer = try await answer()
            await gate.leave()
            return answer
        } catch {
            await gate.leave()
            throw error
        }
    }
}

/// The context of one request: its service and the helpers that handlers share.
struct ResourceHandler: Sendable {
    let service: ODataService
    let request: ServiceRequest

    var tables: ServiceTables { service.tables }
    var responses: ResponseBuilder { ResponseBuilder(format: request.format) }
    var finder: RecordFinder { RecordFinder(tables: tables, records: request.records, runner: runner) }
    var limits: ServiceLimits { service.configuration.limits }
    var links: EntityLinks {
        EntityLinks(
            tables: tables, records: request.records, root: request.root, language: request.language,
            limits: limits.language)
    }

    /// Throws where the model's capabilities say that a set does not take it.
    func capable(_ table: RecordTable, _ action: SetCapabilities.Action) throws {
        guard !SetCapabilities(table, of: tables.model).allow(action) else { return }
        throw ODataError.methodNotAllowed("\(table.source) does not take this.", allowed: "GET, HEAD, OPTIONS")
    }

    static func only(_ methods: [String], _ request: ServiceRequest) throws {
        guard methods.contains(request.method) else {
            throw ODataError.methodNotAllowed(
                "This resource does not take \(request.method).",
                allowed: (methods + ["OPTIONS"]).joined(separator: ", "))
        }
    }
}

extension ResourceHandler {
    var documents: DocumentReading {
        DocumentReading(
            records: request.records, limits: limits, address: request.address, long: service.longResponses)
    }

    var runner: QueryRunner {
        QueryRunner(
            tables: tables, records: request.records, now: service.clock.now(), limits: limits.query,
            asked: service.called.flatMap { sets in request.calls.map { (sets, $0) } })
    }
}

/// Finds the adapter that implements an operation of a service by its name.
struct ServiceOperationTable: Sendable {
    private let byName: [String: any ServiceOperations]

    init(_ all: [any ServiceOperations]) {
        byName = Dictionary(
            all.flatMap { some in some.names.map { ($0, some) } }, uniquingKeysWith: { first, _ in first })
    }

    subscript(name: String) -> (any ServiceOperations)? { byName[name] }
}

/// A readers-writer lock: requests share it, reloading the seed holds it exclusively. No wait is without an end: it is not for
/// a request that is slow, and does not last longer than its own call.
actor ReseedGate {
    private let longestWait: Duration
    private var running = 0
    private(set) var isClosed = false

    /// How often a condition is looked at. Reloading is rare, and waiting for it is rarer.
    private static let interval = Duration.milliseconds(10)

    /// `longestWait`: how long reloading waits for the requests under way. Twice that, requests wait for reloading.
    init(longestWait: Duration = .seconds(2)) {
        self.longestWait = longestWait
    }

    /// Throws `server.overloaded` where it takes too long, and `CancellationError`.
    func enter() async throws {
        try await wait(atMost: longestWait * 2) { !$0.isClosed }
        running += 1
    }

    func leave() { running -= 1 }

    /// Runs alone. The caller has entered itself, and counts as gone while it waits. Throws as ``enter()`` does, and changes
    /// nothing then.
    func alone<Result: Sendable>(_ body: @Sendable () async throws -> Result) async throws -> Result {
        running -= 1
        defer { running += 1 }
        try await wait(atMost: longestWait) { !$0.isClosed }
        isClosed = true
        defer { isClosed = false }
        try await wait(atMost: longestWait) { $0.running == 0 }
        return try await body()
    }

    private func wait(atMost longest: Duration, until isMet: (isolated ReseedGate) -> Bool) async throws {
        let end = ContinuousClock.now + longest
        while !isMet(self) {
            guard ContinuousClock.now < end else {
                throw PorticoError(
                    .overloaded, "Other requests to this service take too long. Try again in a moment.", retryAfter: 5)
            }
            try await Task.sleep(for: Self.interval)
        }
    }
}
