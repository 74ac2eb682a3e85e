import AdapterKit
import AdapterProtocol
import RecordStorage
import Synchronization

/// The host's side of the protocol: one worker as an adapter.
///
/// It decides what the worker may ask for: a request reaches the records and credentials of a caller only in the course
/// of a call of this caller. Safe to use from any task.
public final class WorkerConnection: WorkerSession, MessageHandler {
    private struct State {
        var greeting: WorkerGreeting?
        var options: [ConfigurationOption] = []
        var services: [Set<String>] = []
        var context: AdapterContext?
        var scopes: [Int: CallScope] = [:]
        /// The number of the last request to the worker.
        var last = 0
        /// Requests to mounts whose answers have not ended.
        var mounts = 0
        /// Requests that may take any time, by their method.
        var longRequests: [String: Int] = [:]
        var signalLimit = SignalLimit()
        var metrics = MetricEventLimit()
        var end: WorkerEnd?
        var waiters: [CheckedContinuation<WorkerEnd, Never>] = []
        /// Set where the host itself ends the connection for a reason that the connection does not know.
        var reason: WorkerEnd?
    }

    let log: Log.Sink
    private let limits: SessionLimits
    private let state = Mutex(State())
    private let connection: Mutex<MessageConnection?>
    private let snapshots: SnapshotHandles
    private let turns: RequestTurns
    private let heldBodies: HeldBytes

    init(_ socket: Int32, limits: SessionLimits, log: @escaping Log.Sink) {
        self.log = log
        self.limits = limits
        snapshots = SnapshotHandles(limits.snapshots, time: limits.snapshotTime)
        turns = RequestTurns(permits: limits.requests, changes: limits.changesAtOnce)
        heldBodies = HeldBytes(limit: limits.heldBodies)
        connection = Mutex(nil)
        let made = MessageConnection(socket: socket, limits: limits.connection, handler: self)
        connection.withLock { $0 = made }
        made.start()
    }

    public var greeting: WorkerGreeting {
        // Nothing has this session before the handshake is over.
        state.withLock { $0.greeting } ?? WorkerGreeting(name: "unknown", version: "", protocolVersion: 0, sdk: "")
    }

    /// The keys below `adapters.{name}` that the adapter understands.
    public var options: [ConfigurationOption] { state.withLock { $0.options } }

    public var received: Int { connection.withLock { $0 }?.received ?? 0 }

    public func ping() async throws { _ = try await ask(RequestMethod.ping) }

    public func waitForEnd() async -> WorkerEnd {
        await withCheckedContinuation { continuation in
            let end = state.withLock { state -> WorkerEnd? in
                if state.end == nil { state.waiters.append(continuation) }
                return state.end
            }
            if let end { continuation.resume(returning: end) }
        }
    }

    public func close() { connection.withLock { $0 }?.close() }

    public func ended(_ end: ConnectionEnd) {
        let (waiters, result) = state.withLock { state in
            let result = state.reason ?? WorkerEnd(end)
            state.end = result
            state.scopes = [:]
            defer { state.waiters = [] }
            return (state.waiters, result)
        }
        connection.withLock { $0 = nil }
        snapshots.closeAll()
        for waiter in waiters { waiter.resume(returning: result) }
    }

    // MARK: The handshake

    func shakeHands() async throws {
        do {
            let response = try await ask(RequestMethod.hello, ["versions": AdapterProtocolVersion.spoken.message])
            let hello = try read(HelloResponse.self, response, of: RequestMethod.hello)
            guard AdapterProtocolVersion.spoken.contains(hello.version) else {
                let spoken = AdapterProtocolVersion.spoken.map(String.init).joined(separator: ", ")
                throw refuse("the worker speaks version \(hello.version), the gateway speaks \(spoken)")
            }
            if let problem = hello.problem {
                throw endForViolation("\(RequestMethod.hello): \(problem)")
            }
            state.withLock {
                $0.greeting = WorkerGreeting(
                    name: hello.name, version: hello.program, protocolVersion: hello.version, sdk: hello.sdk)
                $0.options = hello.options
            }
        } catch let error as PorticoError where error.code == .versionUnsupported {
            throw refuse(error.message)
        }
    }

    private func refuse(_ reason: String) -> WorkerEnded {
        state.withLock { $0.reason = .versionRefused(reason) }
        close()
        return WorkerEnded(.versionRefused(reason), wasSent: true)
    }

    /// Asks for what the adapter offers with a configuration. Throws ``ConfigurationProblem`` where it makes no sense,
    /// ``WorkerRefusal`` for what cannot run as a worker, and ``WorkerEnded``.
    public func describe(_ configuration: AdapterConfiguration) async throws -> WorkerDescription {
        var message = try await ask(RequestMethod.declare, ["configuration": self.message(of: configuration)])
        if isOfVersion1 { message = Version1.response(message) }
        let response = try read(DeclareResponse.self, message, of: RequestMethod.declare)
        let name = response.declaration.name
        if let mount = response.shapedErrors.first, !response.answersErrors {
            throw WorkerRefusal(
                "The adapter \(name) shapes the errors of its mount \(mount) (errorResponse), and its program was built before workers could: build it again, or load it as a library."
            )
        }
        let first = response.maximumFirst ?? PreparedChange.maximumFirst
        let rules = response.hasRules ? WorkerRecordRules(of: response.declaration, maximumFirst: first) : nil
        let declaration = rules.map { response.declaration.holding(to: $0) } ?? response.declaration
        if let problem = rules?.problem ?? response.declaration.problems.first?.description {
            throw WorkerRefusal("What the adapter \(name) declares cannot be served: \(problem)")
        }
        return WorkerDescription(
            declaration: declaration, services: response.services.map(Set.init), samples: response.samples,
            shapedErrors: Set(response.shapedErrors), worksBesideCalls: response.worksBesideCalls,
            protocolVersion: greeting.protocolVersion)
    }

    private var isOfVersion1: Bool { greeting.protocolVersion == 1 }

    private func message(of configuration: AdapterConfiguration) -> WireValue {
        (isOfVersion1 ? Version1.configuration(configuration, options) : configuration).message
    }

    func make(_ configuration: AdapterConfiguration, scratch: String?) async throws {
        var parameters: WireDictionary = ["configuration": message(of: configuration)]
        parameters["scratch"] = scratch?.message
        let response = try await ask(RequestMethod.make, parameters)
        let services = try read(MakeResponse.self, response, of: RequestMethod.make).services
        state.withLock { $0.services = services.map(Set.init) }
    }

    // MARK: Asking the worker

    /// Throws ``WorkerEnded`` and what the worker throws.
    func ask(_ method: String, _ parameters: WireDictionary = [:], _ scope: CallScope = CallScope()) async throws
        -> WireValue
    {
        let number = Mutex(0)
        defer { leave(number.withLock { $0 }) }
        return try await ask(method, parameters, scope, number)
    }

    /// As ``ask(_:_:_:)``, for a response whose body may still be on its way: the scope stays until it is left.
    func askKeepingScope(
        _ method: String, _ parameters: WireDictionary, _ scope: CallScope
    ) async throws -> (value: WireValue, scope: Int) {
        let number = Mutex(0)
        do {
            return (try await ask(method, parameters, scope, number), number.withLock { $0 })
        } catch {
            leave(number.withLock { $0 })
            throw error
        }
    }

    private func ask(
        _ method: String, _ parameters: WireDictionary, _ scope: CallScope, _ number: borrowing Mutex<Int>
    ) async throws -> WireValue {
        guard let connection = connection.withLock({ $0 }) else {
            throw WorkerEnded(state.withLock { $0.end } ?? .closed, wasSent: false)
        }
        do {
            return try await connection.request(method, parameters) { sent in
                number.withLock { $0 = sent }
                self.state.withLock { ($0.scopes[sent], $0.last) = (scope.scope(for: method), sent) }
            }
        } catch let ended as ConnectionEnded {
            throw WorkerEnded(state.withLock { $0.end } ?? WorkerEnd(ended.end), wasSent: ended.wasSent)
        }
    }

    /// A request to a mount begins. Throws `server.overloaded` where too many answers have not ended, whose bodies would be
    /// more than a connection has.
    func beginMount() throws {
        let isPossible = state.withLock { state in
            guard state.mounts < limits.mounts else { return false }
            state.mounts += 1
            return true
        }
        guard isPossible else {
            throw PorticoError(
                .overloaded, "The adapter has too many responses whose bodies callers have not read yet.", retryAfter: 1
            )
        }
    }

    /// Its answer has ended.
    func endMount() { state.withLock { $0.mounts -= 1 } }

    /// Refuses from now on what the worker asks in the course of this request, and closes its snapshots.
    func leave(_ scope: Int) { state.withLock { $0.scopes.removeValue(forKey: scope) }?.snapshots.closeAll() }

    /// A response that is not what the protocol says ends the connection.
    func read<Value: MessageValue>(_ type: Value.Type, _ message: WireValue, of method: String) throws -> Value {
        do { return try Value(message: message) } catch { throw endForViolation("\(method): \(error)") }
    }

    /// Ends the connection for what the worker sent.
    func endForViolation(_ reason: String) -> WorkerEnded {
        connection.withLock { $0 }?.end(.violation(reason))
        return WorkerEnded(.protocolViolation(reason), wasSent: true)
    }

    // MARK: Answering the worker

    public func receive(event: String, scope: Int?, _ parameters: WireDictionary) {
        let (scope, context) = state.withLock { ($0.scopes[scope ?? 0], $0.context) }
        do {
            let map = try MessageMap(.dictionary(parameters))
            switch event {
            case RequestMethod.log:
                let message: LogMessage = try map("message")
                CallContext.$current.withValue(scope?.context) { log(message) }
            case RequestMethod.signal:
                let data: WireDictionary = try map("data")
                guard isWithinLimit(data) else { return }
                context?.live.signal(
                    try map("event"), data, in: try map("group"), of: try map("feed"), from: try map("from"))
            case RequestMethod.metric:
                guard let context, let change = try MetricChange.read(map) else { return }
                take(change, context)
            // An event of a later version.
            default: break
            }
        } catch {
            _ = endForViolation("\(event): \(error)")
        }
    }

    private func isWithinLimit(_ signal: WireDictionary) -> Bool {
        let size = WireValue.dictionary(signal).approximateSize
        let (isTaken, omitted) = state.withLock { $0.signalLimit.take(size, at: .now) }
        if let omitted { Log(log).warning("adapter signals too much", ["omittedSignals": .count(omitted)]) }
        return isTaken
    }

    private func take(_ change: MetricChange, _ context: AdapterContext) {
        switch state.withLock({ $0.metrics.take(at: .now) }) {
        case .pass: context.metrics.change(change)
        case .refuseFirst: context.log.warning("adapter reports its metrics too often", ["metric": .text(change.name)])
        case .refuse: break
        }
    }

    public func respond(to request: Message.Request, over connection: MessageConnection) async throws -> WireValue {
        let (known, isOver, context) = state.withLock { state in
            (state.scopes[request.scope ?? 0], (request.scope ?? 0) <= state.last, state.context)
        }
        if known == nil, request.method == RequestMethod.closeSnapshot {
            // Also of a call that is over, whose snapshots are closed already: a worker may clean up late.
            snapshots.close(try MessageMap(.dictionary(request.parameters))("snapshot"))
            return .null
        }
        // What the adapter asks for itself may be on its way when the call ends in whose course it was asked.
        let isOwn = request.scope == nil || isOver && !request.isOfCall(with: snapshots)
        guard let scope = known ?? (isOwn ? CallScope() : nil), let context else {
            throw PorticoError(.adapterUnavailable, "The call for which this request was made has ended.")
        }
        let answers = WorkerRequests(
            scope: scope, context: context, connection: connection, snapshots: snapshots, bodies: heldBodies,
            limits: limits)
        return try await Self.$asking.withValue(self) {
            try await scope.run(as: .adapter(greeting.name)) {
                try await serve(request, in: scope) { try await answers.respond(to: request) }
            }
        }
    }

    /// Requests that wait for something else than the store are not served in turns: they would keep those waiting that it takes
    /// to end them, as the reads of an open snapshot are. They are few, or have limits where they wait.
    private static let longRequests: Set<String> = [
        RequestMethod.openSnapshot, RequestMethod.readSnapshot, RequestMethod.closeSnapshot, RequestMethod.created,
        RequestMethod.push, RequestMethod.upstream,
    ]

    private func serve(
        _ request: Message.Request, in scope: CallScope, _ body: () async throws -> WireValue
    ) async throws -> WireValue {
        let method = request.method
        if scope.ruleReads == nil, Self.longRequests.contains(method) {
            let limit = [RequestMethod.created: limits.polls, RequestMethod.push: limits.pushes][method]
            guard let limit else { return try await body() }
            try beginLongRequest(method, limit)
            defer { state.withLock { $0.longRequests[method, default: 0] -= 1 } }
            return try await body()
        }
        let changes = method == RequestMethod.apply ? request.parameters["changes"]?.arrayValue?.count ?? 0 : 0
        guard changes <= limits.changes || scope.caller?.kind == .operator else {
            throw PorticoError(
                .requestLimitExceeded, "At most \(limits.changes) changes are made together.", target: "changes")
        }
        let earliest = ContinuousClock.now + limits.requestTime
        return try await turns.serve(
            scope: scope.hasOwnTurn ? request.scope : nil, changes: changes,
            until: max(scope.context?.deadline ?? earliest, earliest),
            cancel: { [weak self] in self?.connection.withLock { $0 }?.cancelServing(request.number) }, body)
    }

    private func beginLongRequest(_ method: String, _ limit: Int) throws(PorticoError) {
        let isPossible = state.withLock { state in
            guard state.longRequests[method, default: 0] < limit else { return false }
            state.longRequests[method, default: 0] += 1
            return true
        }
        guard isPossible else {
            throw PorticoError(
                .overloaded, "The adapter waits for too much.", retryAfter: 1,
                logDetail: "more than \(limit) requests \(method) at once")
        }
    }

    /// The worker that waits for what the task does.
    @TaskLocal static var asking: WorkerConnection?

    func use(_ context: AdapterContext) { state.withLock { $0.context = context } }

    var services: [Set<String>] { state.withLock { $0.services } }

    var messages: MessageConnection {
        get throws {
            guard let connection = connection.withLock({ $0 }) else {
                throw WorkerEnded(state.withLock { $0.end } ?? .closed, wasSent: false)
            }
            return connection
        }
    }
}

/// The call in the course of which the worker asks: whose records and credentials it may use meanwhile.
struct CallScope: Sendable {
    var caller: Principal?
    /// As far as the caller may see and change them.
    var records: (any RecordStore)?
    var ages: (any RecordAges)?
    var service: (any ServiceRecords)?
    /// The reads of a question to the adapter's record rules.
    var ruleReads: RuleReads?
    /// Whether a request of the worker may wait for this one, so that requests in its course cannot wait for that request.
    private(set) var hasOwnTurn = false
    /// That the worker opens in the course of it.
    let snapshots = CallSnapshots()
    let identity: CallerIdentity
    let context: CallContext?
    let isOperatorTry: Bool

    /// Creates the scope of the task at hand.
    init(
        caller: Principal? = nil, records: (any RecordStore)? = nil, ages: (any RecordAges)? = nil,
        service: (any ServiceRecords)? = nil
    ) {
        self.caller = caller
        self.records = records
        self.ages = ages
        self.service = service
        identity = .current
        context = .current
        isOperatorTry = CallContext.isOperatorTry
    }

    /// Clients' calls come from outside. All else may be what comes of a worker's `apply`: questions to rules, changes of mirrors,
    /// conflicts.
    func scope(for method: String) -> CallScope {
        guard method != RequestMethod.call, method != RequestMethod.mount else { return self }
        var scope = self
        scope.hasOwnTurn = true
        return scope
    }

    /// Runs the body as if in the task that has asked. `adapter`: whose share it uses where no caller's work is the reason.
    func run<Result: Sendable>(
        as adapter: CallerIdentity, _ body: @Sendable () async throws -> Result
    ) async throws -> Result {
        try await CallerIdentity.$current.withValue(identity == .system ? adapter : identity) {
            try await CallContext.$current.withValue(context) {
                try await CallContext.$isOperatorTry.withValue(isOperatorTry) { try await body() }
            }
        }
    }
}

/// The response to `make`.
private struct MakeResponse: MessageValue {
    let services: [[String]]

    var message: WireValue { ["services": services.message] }
    init(message: WireValue) throws { services = try MessageMap(message)("services", default: []) }
}

extension WorkerEnd {
    init(_ end: ConnectionEnd) {
        self =
            switch end {
            case .closed: .closed
            case .disconnected: .disconnected
            case .violation(let reason): .protocolViolation(reason)
            }
    }
}
