import AdapterKit
import ODataEngine
import ODataModel
import Synchronization

/// Starts the configured OData services and dispatches each request to the service that is mounted at its path.
final class ODataAdapter: Adapter {
    private let configurations: [ServiceConfiguration]
    private let mounts = Mutex<[OperationName: ServiceMount]>([:])
    private let context = Mutex<AdapterContext?>(nil)
    private let limits: ServiceLimits
    /// Of all services together.
    private let asyncResponses = Mutex<AsyncResponses?>(nil)
    private let sources = Mutex<[EntityName: any EntitySource]>([:])

    init(services: [ServiceConfiguration], limits: ServiceLimits) {
        self.limits = limits
        configurations = services
    }

    func start(_ context: AdapterContext) async throws {
        self.context.withLock { $0 = context }
        let asyncResponses = AsyncResponses(limits: limits.async, files: context.scratch)
        self.asyncResponses.withLock { $0 = asyncResponses }
        let operations = ServiceOperationTable(context.serviceOperations)
        for configuration in configurations {
            try makeSources(of: configuration, context)
            let seed = ServiceSeed(configuration, records: context.records, now: context.clock.now())
            let loaded = try await seed.loadIfEmpty()
            if loaded > 0 {
                context.log.info("seed loaded", ["service": .text(configuration.name), "records": .count(loaded)])
            }
            let service = ODataService(
                configuration: configuration,
                documents: ServiceDocuments(
                    configuration.model, isSearched: !configuration.searched.isEmpty, closed: configuration.closedSets),
                operations: operations, clock: context.clock, gate: ReseedGate(), asyncResponses: asyncResponses,
                queryPlans: QueryPlanCache(most: configuration.limits.queryPlanCache), own: context.records,
                called: configuration.upstream.flatMap {
                    CalledSets(configuration, context.upstreams[$0.name], clock: context.clock)
                })
            mounts.withLock { mounts in
                for root in configuration.roots { mounts[root.name] = ServiceMount(root, of: service) }
            }
        }
    }

    /// The sources of the entities whose truth is in another system.
    private func makeSources(of service: ServiceConfiguration, _ context: AdapterContext) throws {
        guard let upstream = service.upstream else { return }
        guard let called = context.upstreams[upstream.name] else {
            throw PorticoError(.adapterUnavailable, "There is no upstream \(upstream.name).")
        }
        let exchange = EntityExchange(called, upstream)
        let session = WriteSession(exchange)
        var sources: [EntityName: any EntitySource] = [:]
        for table in service.tables.tables.values where !upstream.called.contains(table.source) {
            sources[table.entity] = SetSource(
                table, of: service, in: upstream, session: session, records: context.records, clock: context.clock)
        }
        for link in service.tables.links where upstream.mirrors(link) {
            sources[link.entity] = LinkSource(link: link, service: service, exchange: exchange)
        }
        self.sources.withLock { $0.merge(sources) { $1 } }
    }

    func readMirror(_ request: MirrorRequest) async throws -> MirrorPage {
        guard let source = sources.withLock({ $0[request.entity] }) else {
            throw PorticoError(.adapterUnavailable, "This adapter mirrors no \(request.entity).")
        }
        return try await source.page(request)
    }

    func writeMirror(_ change: MirrorChange) async throws -> MirrorWriteResult {
        try await writable(change.entity).write(change)
    }

    func readMirror(_ entity: EntityName, _ id: RecordID) async throws -> MirrorRecord {
        try await writable(entity).record(id)
    }

    private func writable(_ entity: EntityName) throws -> SetSource {
        guard let source = sources.withLock({ $0[entity] }) as? SetSource else {
            throw PorticoError(.adapterUnavailable, "This adapter changes no \(entity) elsewhere.")
        }
        return source
    }

    func handle(_ call: Call) async throws -> OperationResult {
        guard call.operation == ImportRows.operation.name, let context = context.withLock({ $0 }) else {
            throw PorticoError(.routeNotFound, "There is no such operation.", target: call.operation.text)
        }
        return try await ImportRows(configurations, records: context.records, now: context.clock.now()).perform(call)
    }

    func handle(_ request: MountRequest) async throws -> MountResponse {
        guard let mount = mounts.withLock({ $0[request.mount] }) else {
            throw PorticoError(.adapterUnavailable, "The service is not there yet.", retryAfter: 1)
        }
        do {
            return try await mount.respond(to: request)
        } catch let failure as ODataError {
            return failed(failure, request)
        }
    }

    func stop() async {
        await asyncResponses.withLock { $0 }?.stop()
    }

    /// With a status or header fields that the gateway would not know of.
    private func failed(_ failure: ODataError, _ request: MountRequest) -> MountResponse {
        let status = failure.status ?? (failure.error.code == .methodNotAllowed ? 405 : 400)
        if isVersion2(request.mount) {
            let error = Version2Error(error: failure.error, details: failure.details, requestID: request.requestID)
            return Version2Failure.answer(
                error, status: status, to: request.headers, target: request.target, adding: failure.headers)
        }
        var headers = failure.headers
        for field in ErrorHeaders.of(request.headers).fields { headers[field.name] = field.value }
        return MountResponse(
            status, headers: headers,
            body: ODataError.body(failure.error, details: failure.details, requestID: request.requestID))
    }

    private func isVersion2(_ mount: OperationName) -> Bool {
        configurations.contains { service in
            service.roots.contains { $0.name == mount && $0.version == .version2 }
        }
    }

    func errorResponse(for error: PorticoError, status: Int, to request: MountFailure) -> MountResponse? {
        if isVersion2(request.mount) {
            return Version2Failure.answer(
                Version2Error(error: error, requestID: request.requestID), status: status, to: request.headers,
                target: request.target)
        }
        return MountResponse(
            status, headers: ErrorHeaders.of(request.headers),
            body: ODataError.body(error, requestID: request.requestID))
    }

    func frontPageEntries() async throws -> [FrontPageEntry] {
        configurations.map { configuration in
            FrontPageEntry(
                title: configuration.name, path: "/odata/v4/\(configuration.name)/",
                summary: "OData 4.01: \(configuration.tables.sources.joined(separator: ", ")).")
        }
    }

    func sampleRecords() throws -> [SampleRecords] {
        configurations.filter { $0.upstream == nil }.flatMap { service in
            AdmissionsSamples(tables: service.tables, students: service.samples)?.records() ?? []
        }
    }
}

/// Dispatches the requests of one root of a service to the protocol version of that root.
enum ServiceMount: Sendable {
    case version4(ODataService)
    case version2(Version2Mount)

    init(_ root: ServiceRoot, of service: ODataService) {
        switch root.version {
        case .version4: self = .version4(service)
        case .version2: self = .version2(Version2Mount(service: service, rootPath: root.path))
        }
    }

    var service: ODataService {
        switch self {
        case .version4(let service): service
        case .version2(let mount): mount.service
        }
    }

    /// Requests are answered later at the roots of version 4 alone.
    func respond(to request: MountRequest) async throws -> MountResponse {
        switch self {
        case .version4(let service): try await VaryHeader.added(service.respond(to: request))
        case .version2(let mount): try await mount.service.betweenReseeds { try await mount.answer(request) }
        }
    }
}

/// The OData adapter: services whose entities are declared by a CSDL document (docs/adapters/odata.md).
public enum ODataModule: AdapterModule {
    public static let name: AdapterName = "odata"

    public static let options =
        [
            ConfigurationOption(
                "services.*.model", .file, changesRecords: true,
                summary: "The CSDL document, beside the configuration: XML of 4.0 or 4.01, JSON, or EDMX of version 2."),
            ConfigurationOption(
                "services.*.sapName", .string,
                summary:
                    "The name on SAP's paths, `/sap/opu/odata/sap/NAME`; the model's namespace by default."),
            ConfigurationOption(
                "services.*.access", .access,
                summary: "Who may read and write; what it does not say, adapters.odata.access does."),
            ConfigurationOption(
                "services.*.sets.*.access", .access,
                summary: "Who may read and write one set; what it does not say, the service's access does."),
            ConfigurationOption(
                "services.*.pageSize", .integer(IntegerRange(1...10_000)),
                summary: "Entities of one answer; the next ones are linked. 100 by default."),
            ConfigurationOption(
                "services.*.seed", .file,
                summary: "A JSON document with rows for sets by name, loaded when the service has none."),
            ConfigurationOption(
                "services.*.samples", .integer(IntegerRange(0...1_000_000)),
                summary:
                    "Generated students of the demonstration's model, the rest in proportion; 100000 by default."
            ),
            ConfigurationOption(
                "services.*.search", .list(of: .string), changesRecords: true,
                summary: "Properties that $search looks at: `Products/Name`."),
            ConfigurationOption(
                "services.*.unique", .list(of: .string), changesRecords: true,
                summary: "Properties whose values are there once: `Products/Name`."
            ),
            ConfigurationOption(
                "services.*.indexes", .textLists, changesRecords: true,
                summary:
                    "Properties by which pages are ordered and filtered fast: `Students/LastName`; several for one index as a list, `[Students/SchoolID, Students/GPA]`. Made and dropped at the start."
            ),
            ConfigurationOption(
                "services.*.discriminators", .list(of: .string), changesRecords: true,
                summary: "Properties that hold the simple name of their entity's type: `Products/Kind`."),
            ConfigurationOption(
                "services.*.conflicts", .choice(["merge", "reject", "lastWriterWins"]), changesRecords: true,
                summary: "How changes that did not know of each other are settled; merge by default."),
        ] + ServiceUpstream.options + ServiceLimits.options

    public static func declare(_ configuration: AdapterConfiguration) throws -> AdapterDeclaration {
        let services = try ServiceConfiguration.all(configuration)
        return AdapterDeclaration(
            name: name, title: "OData", summary: "Entities over OData 4.01, as a model describes them.",
            version: "1.0", access: ServiceRights.widest(services.map(\.rights)),
            entities: services.flatMap(\.entities), operations: [ImportRows.operation],
            mounts: services.flatMap(\.mounts), mirrors: services.flatMap { $0.upstream?.mirrors ?? [] },
            rules: ServiceRules(services))
    }

    /// What of other systems' models is not served, one sentence for each set, property and operation. Throws
    /// ``ConfigurationProblem``.
    public static func limitations(_ configuration: AdapterConfiguration) throws -> [String] {
        try ServiceConfiguration.all(configuration).flatMap { service in
            service.upstream?.leftOut.map { "the OData service \(service.name) leaves out \($0)" } ?? []
        }
    }

    public static func make(_ configuration: AdapterConfiguration) throws -> any Adapter {
        ODataAdapter(
            services: try ServiceConfiguration.all(configuration),
            limits: ServiceLimits(configuration["limits"]?.dictionaryValue ?? [:]))
    }
}
