import AdapterKit
import ODataModel
import ODataRecords
import Synchronization

final class ODataAdapter: Adapter {
    private let configurations: [ServiceConfiguration]
    private let mounts = Mutex<[OperationName: ServiceMount]>([:])
    private let context = Mutex<AdapterContext?>(nil)
    private let limits: ServiceLimits
    /// Of all services together.
    private let later = Mutex<AsyncResponses?>(nil)

    init(services: [ServiceConfiguration], limits: ServiceLimits) {
        self.limits = limits
        configurations = services
    }

    func start(_ context: AdapterContext) async throws {
        self.context.withLock { $0 = context }
        let later = AsyncResponses(limits: limits.async, files: context.scratch)
        self.later.withLock { $0 = later }
        let operations = ServiceOperationTable(context.serviceOperations)
        for configuration in configurations {
            let seed = ServiceSeed(configuration, records: context.records, now: context.clock.now())
            let loaded = try await seed.loadIfEmpty()
            if loaded > 0 {
                context.log.info("seed loaded", ["service": .text(configuration.name), "records": .count(loaded)])
            }
            let service = ODataService(
                configuration: configuration,
                documents: ServiceDocuments(configuration.model, isSearched: !configuration.searched.isEmpty),
                operations: operations, clock: context.clock, gate: ReseedGate(), later: later,
                known: QueryPlanCache(most: configuration.limits.queryPlanCache), own: context.records)
            mounts.withLock { mounts in
                for root in configuration.roots { mounts[root.name] = ServiceMount(root, of: service) }
            }
        }
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
        await later.withLock { $0 }?.stop()
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
        for field in ErrorFields.of(request.headers).fields { headers[field.name] = field.value }
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
            status, headers: ErrorFields.of(request.headers),
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
        configurations.filter { $0.model.namespaces.contains(AdmissionsSamples.namespace) }
            .flatMap { AdmissionsSamples(tables: $0.tables, students: $0.samples).records() }
    }
}
