import AdapterKit
import AdapterProtocol
import Synchronization

/// The worker's side of the protocol: an adapter that answers the host's requests over a socket.
public final class WorkerRuntime: MessageHandler {
    private struct State {
        var configuration: AdapterConfiguration?
        var adapter: (any Adapter)?
        var declaration: AdapterDeclaration?
        var services: [any ServiceOperations] = []
        var scratch: String?
        var metrics: MetricSender?
        /// It does what it does beside its calls.
        var isActive = false
    }

    private let module: any AdapterModule.Type
    private let version: String
    private let whenEnded: @Sendable () -> Void
    private let state = Mutex(State())
    private let connection: Mutex<MessageConnection?>

    /// Takes the socket over. `whenEnded` is called once, when the connection has ended.
    public init(
        _ module: any AdapterModule.Type, version: String, socket: Int32, whenEnded: @escaping @Sendable () -> Void
    ) {
        self.module = module
        self.version = version
        self.whenEnded = whenEnded
        connection = Mutex(nil)
        let made = MessageConnection(socket: socket, handler: self)
        connection.withLock { $0 = made }
    }

    /// Begins to answer.
    public func start() { connection.withLock { $0 }?.start() }

    public func receive(event: String, scope: Int?, _ parameters: WireDictionary) {}

    public func ended(_ end: ConnectionEnd) {
        connection.withLock { $0 = nil }
        state.withLock { $0.metrics }?.stop()
        whenEnded()
    }

    public func respond(to request: Message.Request, over connection: MessageConnection) async throws -> WireValue {
        let parameters = try MessageMap(.dictionary(request.parameters))
        let context = try parameters.optional("context", as: ContextValues.self)?.context
        let call = Self.isWithoutCall(request.method) ? nil : HostCall(request.number)
        defer { call?.end() }
        return try await HostCall.$current.withValue(call) {
            try await CallContext.$current.withValue(context) {
                try await respond(to: request, parameters, connection)
            }
        }
    }

    /// What these begin goes on after them, and acts for no caller.
    private static func isWithoutCall(_ method: String) -> Bool {
        [RequestMethod.start, RequestMethod.activate, RequestMethod.drain, RequestMethod.stop].contains(method)
    }

    private func respond(
        to request: Message.Request, _ parameters: MessageMap, _ connection: MessageConnection
    ) async throws -> WireValue {
        switch request.method {
        case RequestMethod.hello: return try hello(parameters)
        case RequestMethod.declare: return try declare(try parameters("configuration"))
        case RequestMethod.make: return try make(parameters)
        case RequestMethod.start: return try await start(parameters, connection)
        case RequestMethod.activate:
            if becomesActive(true) { try adapter.activate() }
            return .null
        case RequestMethod.drain:
            if becomesActive(false) { try await adapter.drain() }
            return .null
        case RequestMethod.stop:
            try await adapter.stop()
            // Before the response, after which the process is ended.
            state.withLock { $0.metrics }?.flush()
            return .null
        case RequestMethod.call: return try await call(request.number, parameters, connection)
        case RequestMethod.mount: return try await mount(request.number, parameters, connection)
        case RequestMethod.resolve: return try await adapter.resolve(try parameters("conflict")).message
        case RequestMethod.readMirror:
            return try await adapter.readMirror(try parameters("request", as: MirrorRequest.self)).message
        case RequestMethod.readMirrorRecord:
            return try await adapter.readMirror(try parameters("entity"), try parameters("id")).message
        case RequestMethod.writeMirror: return try await adapter.writeMirror(try parameters("change")).message
        case RequestMethod.frontPage: return try await adapter.frontPageEntries().message
        case RequestMethod.performService: return try await performService(request.number, parameters, connection)
        case RequestMethod.prepareRule: return try await prepare(request.number, parameters, connection)
        case RequestMethod.shapeError: return try await shapeError(parameters, connection)
        case RequestMethod.verifyRule: return try await verify(request.number, parameters, connection)
        default:
            throw PorticoError(
                .adapterUnavailable, "The adapter's program does not know the method of this request.",
                logDetail: "method \(request.method)")
        }
    }

    /// Whether that is another state than before.
    private func becomesActive(_ isActive: Bool) -> Bool {
        state.withLock { state in
            defer { state.isActive = isActive }
            return state.isActive != isActive
        }
    }

    private var adapter: any Adapter {
        get throws {
            guard let adapter = state.withLock({ $0.adapter }) else {
                throw MessageError("the adapter has not been made", at: "method")
            }
            return adapter
        }
    }

    // MARK: The handshake

    private func hello(_ parameters: MessageMap) throws -> WireValue {
        let offered: [Int] = try parameters("versions")
        let version = AdapterProtocolVersion.current
        guard offered.contains(version) else {
            throw PorticoError(
                .versionUnsupported,
                "The adapter's program speaks version \(version) of the protocol, the gateway \(offered.map(String.init).joined(separator: ", "))."
            )
        }
        return HelloResponse(
            version: version, name: module.name, program: self.version, sdk: AdapterWorkerProgram.sdk,
            options: module.options
        ).message
    }

    private func declare(_ configuration: AdapterConfiguration) throws -> WireValue {
        let declaration = try module.declare(configuration)
        let adapter = try module.make(configuration)
        let probe = PorticoError(.serverInternal, "Something went wrong on the server.")
        let shaped = declaration.mounts.filter { mount in
            let failure = MountFailure(
                mount: mount.name, method: mount.methods.first ?? "GET", target: mount.path.description, headers: [:],
                requestID: "probe")
            return adapter.errorResponse(for: probe, status: 500, to: failure) != nil
        }
        return DeclareResponse(
            declaration: declaration, hasRules: declaration.rules != nil,
            maximumFirst: declaration.rules?.maximumFirst,
            services: adapter.serviceOperations.map { $0.names.sorted() }, samples: try adapter.sampleRecords(),
            shapedErrors: shaped.map(\.name), answersErrors: true, worksBesideCalls: true
        ).message
    }

    private func make(_ parameters: MessageMap) throws -> WireValue {
        let configuration: AdapterConfiguration = try parameters("configuration")
        let declaration = try module.declare(configuration)
        let adapter = try module.make(configuration)
        let scratch = try parameters.optional("scratch", as: String.self)
        state.withLock {
            $0 = State(
                configuration: configuration, adapter: adapter, declaration: declaration,
                services: adapter.serviceOperations,
                scratch: scratch)
        }
        return ["services": adapter.serviceOperations.map { $0.names.sorted() }.message]
    }

    private func start(_ parameters: MessageMap, _ connection: MessageConnection) async throws -> WireValue {
        let start = try StartParameters(message: .dictionary(parameters.members))
        let upstreams = start.upstreams.map { HostUpstream($0, connection) }
        let metrics = MetricSender { connection.report(RequestMethod.metric, $0.parameters) }
        let (scratch, declaration) = state.withLock { state in
            state.metrics = metrics
            return (state.scratch, state.declaration)
        }
        try await adapter.start(
            AdapterContext(
                records: HostRecords(connection, caller: nil), accounts: HostAccounts(connection: connection),
                log: hostLog(connection, scope: nil), clock: SystemWallClock(),
                live: HostLiveSignals(connection: connection),
                push: HostPushSender(platforms: start.platforms, connection: connection),
                upstream: upstreams.first { $0.name == start.upstream },
                upstreams: upstreams.reduce(into: [:]) { $0[$1.name] = $1 },
                changeFeed: HostChangeFeed(connection: connection),
                scratch: scratch.map { FolderScratch(folder: $0) } ?? NoScratchStorage(),
                metrics: AdapterMetrics { metrics.take($0) }, readers: { declaration?.readers(of: $0) ?? .nobody }))
        return .null
    }

    // MARK: Calls

    private func call(
        _ number: Int, _ parameters: MessageMap, _ connection: MessageConnection
    ) async throws -> WireValue {
        let call = Call(
            operation: try parameters("operation"), input: try parameters("input"), caller: try parameters("caller"),
            session: try parameters.optional("session"), requestID: try parameters("requestID"),
            deadline: .now + (try parameters("left")), records: HostRecords(connection, caller: number),
            log: hostLog(connection, scope: number))
        return try await adapter.handle(call).message
    }

    private func mount(
        _ number: Int, _ parameters: MessageMap, _ connection: MessageConnection
    ) async throws -> WireValue {
        let body = try parameters("body", as: MessageBody.self)
        let request = MountRequest(
            mount: try parameters("mount"), method: try parameters("method"), target: try parameters("target"),
            origin: try parameters("origin"), headers: try parameters("headers"),
            body: try await body.collected(over: connection, limit: .max), caller: try parameters("caller"),
            requestID: try parameters("requestID"), deadline: .now + (try parameters("left")),
            records: HostRecords(connection, caller: number), ages: HostAges(connection: connection, scope: number),
            log: hostLog(connection, scope: number))
        return try await adapter.handle(request).message(over: connection)
    }

    private func shapeError(_ parameters: MessageMap, _ connection: MessageConnection) async throws -> WireValue {
        guard case .error(let error) = try parameters("error", as: CrossingError.self) else {
            throw MessageError("an error for a caller is expected", at: "error")
        }
        let response = try adapter.errorResponse(
            for: error, status: try parameters("status"), to: try parameters("failure"))
        return try await response?.message(over: connection) ?? .null
    }

    private func performService(
        _ number: Int, _ parameters: MessageMap, _ connection: MessageConnection
    ) async throws -> WireValue {
        let name: String = try parameters("name")
        let operations = state.withLock { $0.services }.first { $0.names.contains(name) }
        guard let operations else {
            throw PorticoError(.adapterUnavailable, "This adapter has no operation \(name).")
        }
        return try await operations.perform(
            ServiceCall(
                name: name, parameters: try parameters("parameters"), arguments: try parameters("arguments"),
                binding: try parameters("binding"), service: HostServiceRecords(connection: connection, scope: number),
                caller: try parameters("caller"))
        ).message
    }

    // MARK: Rules

    private func prepare(
        _ number: Int, _ parameters: MessageMap, _ connection: MessageConnection
    ) async throws -> WireValue {
        let (change, record): (RecordChange, Record?) = (try parameters("change"), try parameters.optional("record"))
        return try await runRules(number, parameters, connection) { rules, context in
            try rules.prepare(change, of: record, in: context).message
        }
    }

    private func verify(
        _ number: Int, _ parameters: MessageMap, _ connection: MessageConnection
    ) async throws -> WireValue {
        let (record, entity): (Record, EntityName) = (try parameters("record"), try parameters("entity"))
        return try await runRules(number, parameters, connection) { rules, context in
            try rules.verify(record, of: entity, in: context)
            return .null
        }
    }

    private func runRules(
        _ number: Int, _ parameters: MessageMap, _ connection: MessageConnection,
        _ body: @escaping @Sendable (any RecordRules, RecordRuleContext) throws -> WireValue
    ) async throws -> WireValue {
        guard let rules = state.withLock({ $0.declaration?.rules }) else {
            throw PorticoError(.adapterUnavailable, "This adapter has no rules.")
        }
        let snapshot = HostSnapshot(
            try parameters("snapshot"), position: try parameters("position"), connection: connection, caller: number)
        let (caller, now): (Principal, WireDate) = (try parameters("caller"), try parameters("now"))
        return try await onDedicatedThread {
            try body(rules, RecordRuleContext(snapshot: snapshot, caller: caller, now: now))
        }
    }
}

extension MountResponse {
    fileprivate func message(over connection: MessageConnection) async throws -> WireValue {
        let content: MessageBody =
            switch body {
            case .bytes(let bytes): try .sending(bytes, over: connection)
            case .stream(let stream): MessageBody(.stream(try send(stream, over: connection)))
            }
        return ["status": status.message, "headers": headers.message, "body": content.message]
    }

    /// The host answers what is asked in the course of the call until the stream has ended.
    private func send(_ stream: any ByteStream, over connection: MessageConnection) throws -> Int {
        let call = HostCall.current
        call?.beginStream()
        return try connection.send(stream) { call?.end() }
    }
}

/// Runs what blocks its thread on a thread of its own, so that the tasks' threads stay free.
func onDedicatedThread<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
        let isStarted = SystemThread.start { continuation.resume(with: Swift.Result { try body() }) }
        if !isStarted {
            continuation.resume(throwing: PorticoError(.overloaded, "There is no thread left.", retryAfter: 1))
        }
    }
}

func hostLog(_ connection: MessageConnection, scope: Int?) -> Log {
    Log { connection.report(RequestMethod.log, ["message": $0.message], scope: scope) }
}
