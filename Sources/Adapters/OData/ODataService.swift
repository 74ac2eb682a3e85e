import AdapterKit
import ODataAddresses
import ODataLanguage
import ODataModel
import ODataRecords

/// One service: takes its requests apart and hands them to whoever answers their kind. A class, because everybody who
/// does has it.
final class ODataService: Sendable {
    let configuration: ServiceConfiguration
    let documents: ServiceDocuments
    let operations: ServiceOperationTable
    let clock: any WallClock
    let gate: ReseedGate
    let later: AsyncResponses
    let long = LongResponseHistory()
    let known: QueryPlanCache
    /// All of the service's records, for loading the seed.
    let own: any RecordStore

    init(
        configuration: ServiceConfiguration, documents: ServiceDocuments, operations: ServiceOperationTable,
        clock: any WallClock, gate: ReseedGate, later: AsyncResponses, known: QueryPlanCache, own: any RecordStore
    ) {
        self.configuration = configuration
        self.documents = documents
        self.operations = operations
        self.clock = clock
        self.gate = gate
        self.later = later
        self.known = known
        self.own = own
        rootPath = "/odata/v4/\(configuration.name)"
    }

    var tables: ServiceTables { configuration.tables }
    private let rootPath: String

    /// At once, or with the address where the answer can be asked for later.
    func respond(to request: MountRequest) async throws -> MountResponse {
        let version = try ProtocolVersion(request.headers, hasBody: !request.body.isEmpty).answered
        let monitor = StatusMonitor(
            answers: later, owner: AsyncResponses.Owner(request.caller, at: configuration.name),
            root: "\(request.origin)\(rootPath)/", request: request, version: version)
        if let id = StatusMonitor.id(in: relative(request)) { return try await monitor.answer(id) }
        guard Preferences(request.headers["Prefer"]).respondsAsynchronously else {
            return try await betweenReseeds { try await answer(request) }
        }
        try configuration.access.authorize(request.caller, effect: request.method == "GET" ? .reads : .writes)
        let id = try await later.start(for: monitor.owner) { [self] in
            try await betweenReseeds { try await answer(request) }
        } failure: { [self] error in
            failure(error, of: request)
        }
        return monitor.accepted(id)
    }

    /// Not while the seed is loaded anew.
    func betweenReseeds(_ answer: () async throws -> MountResponse) async throws -> MountResponse {
        await gate.enter()
        do {
            let answer = try await answer()
            await gate.leave()
            return answer
        } catch {
            await gate.leave()
            throw error
        }
    }

    /// Below the root, as it came.
    private func relative(_ request: MountRequest) -> String {
        RootedTarget.relative(request.target, below: rootPath)
    }

    func answer(_ request: MountRequest) async throws -> MountResponse {
        let inner = try self.request(request)
        if case .batch = inner.target.resource {
            return try await BatchHandler(
                service: self, request: request, root: inner.root, version: inner.format.version
            ).answer()
        }
        try configuration.access.authorize(request.caller, effect: inner.method == "GET" ? .reads : .writes)
        return try await dispatch(inner)
    }

    func request(_ request: MountRequest) throws -> ServiceRequest {
        let version = try ProtocolVersion(request.headers, hasBody: !request.body.isEmpty).answered
        try SnapshotIsolation.refuse(request.headers)
        let (method, relative) = try QueryPost(
            method: request.method,
            relative: self.relative(request), headers: request.headers, body: request.body
        ).plain()
        let limits = configuration.limits.language
        let (cachedQuery, target) = try cachedQuery(method, relative, in: .v4) { text throws(PorticoError) in
            try TargetReader.target(text, limits: limits)
        }
        var format = try format(target, cachedQuery, accept: request.headers["Accept"])
        format.version = version
        try documents.checkVersion(of: target)
        let preferences = Preferences(request.headers["Prefer"])
        format.omitted = preferences.omitted(version: version)
        return ServiceRequest(
            method: method, relative: relative, target: target, format: format,
            preferences: preferences, headers: request.headers, body: request.body,
            root: "\(request.origin)\(rootPath)/", caller: request.caller, records: request.records,
            cachedQuery: cachedQuery)
    }

    func dispatch(_ request: ServiceRequest) async throws -> MountResponse {
        switch request.target.resource {
        case .service:
            try ResourceHandler.only(["GET"], request)
            let answers = Answers(format: request.format)
            return CacheableDocument(answers: answers, asked: request.headers)
                .kept(answers.json(documents.service(request.format, root: request.root)))
        case .metadata:
            try ResourceHandler.only(["GET"], request)
            let document = try documents.metadata(
                format: request.target.formatOption, accept: request.headers["Accept"], version: request.format.version)
            let answers = Answers(format: request.format)
            return CacheableDocument(answers: answers, asked: request.headers)
                .kept(answers.text(document.body, type: document.type))
        case .path(let segments):
            let address = try address(segments, request)
            return try await ResourceHandler(service: self, request: request).answer(address)
        case .entity: return try await ResourceHandler(service: self, request: request).byID()
        case .batch: throw ODataError.notImplemented("A batch in a batch")
        case .crossJoin(let sources, _):
            return try await CombinedReading(ResourceHandler(service: self, request: request)).crossJoin(sources)
        case .all(let type):
            return try await CombinedReading(ResourceHandler(service: self, request: request)).all(type)
        }
    }
}
