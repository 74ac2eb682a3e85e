import AdapterKit
import AttachmentFiles
import Backups
import Foundation
import Gateway
import HTTPServer
import Identity
import Logging
import Push
import RecordStorage
import ServiceLifecycle
import Synchronization
import Telemetry
import Upstream

/// Everything that runs, put together from a plan, in the order in which the parts need each other.
struct Host {
    let identity: Identity
    let readiness: Readiness
    let supervisor: AdapterSupervisor
    let watch: StoreWatch
    let traces: HostTraces
    let push: CurrentPush
    let upstreams: HostUpstreams
    /// What adapters are started with; another configuration may bring other upstreams.
    let starts: Current<AdapterStart>
    /// What answers until the configuration changes.
    let first: HostGeneration
    let assembly: HostAssembly
    let current: Current<HostGeneration>
    let store: any HostedStore
    /// Nil: none are configured.
    let backups: BackupService?
    let logger: Logger
    private let scratch: ScratchDirectory

    init(
        _ plan: HostPlan, acceptsStore: Bool, configuration: any ConfigurationControl,
        packages: any AdapterDeployment, logs: HostLogs, logger: Logger,
        backingUp contents: @escaping @Sendable () async throws -> BackupContents
    ) async throws {
        let settings = plan.settings
        try FileManager.default.createDirectory(
            at: settings.dataDirectory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let log = Log(logger, label: "portico")
        let opened = try HostStore(settings, acceptsStore: acceptsStore)
        let store = opened.store
        self.store = store
        self.logger = logger
        // The store's lock is this process': no other has workers below this directory.
        WorkerFolders(settings.dataDirectory.path).removeLeftovers(log: log)
        if let replaced = opened.replaced {
            log.info("A restored backup took the store's place.", ["replaced": "\(replaced)"])
        }
        try await store.install(plan.collections)
        for (collection, records) in store.replacedValues.sorted(by: { $0.key < $1.key }) {
            log.warning(
                "stored values that a wire format cannot carry were replaced",
                ["collection": "\(collection)", "records": "\(records)"])
        }
        let transports = HostUpstreams.Transports(settings.upstreams, log: Log(logger, label: "upstream"))
        identity = try await Identity(
            store: store, configuration: settings.identity, clock: SystemClock(),
            providers: try settings.providers.map { $0.setup(try transports.transport($0.upstream)) },
            log: Log(logger, label: "identity"))
        if opened.replaced != nil { try await identity.record(AuditEvent(.storeRestored, actor: Principal.system.id)) }
        let upstreams = try HostUpstreams(
            transports, settings.upstreams, identity: identity, log: Log(logger, label: "upstream"))
        self.upstreams = upstreams
        let traces = HostTraces(log: Log(logger, label: "traces"))
        traces.use(settings.traces, try settings.traces?.destination(in: upstreams.all))
        self.traces = traces
        push = CurrentPush(try PushServices(settings.push, upstreams.all, logger: logger))
        scratch = try ScratchDirectory(settings.dataDirectory.appending(path: ScratchDirectory.folderName))
        let attachments = try AttachmentFiles(
            in: settings.attachmentFolder,
            limits: AttachmentLimits(settings.gateway.sync), clock: SystemClock())
        let seen = SeenDevices(clock: SystemClock())
        let watch = StoreWatch(store: store, attachments: attachments)
        self.watch = watch
        readiness = Readiness { watch.problem }
        let target = try settings.backups?.target(upstreams.all)
        let backups = settings.backups.flatMap { plan in
            target.map {
                BackupService(
                    plan.settings, target: $0, store: opened.pages, attachments: attachments, clock: SystemClock(),
                    log: Log(logger, label: "backups"), contents: contents)
            }
        }
        self.backups = backups
        assembly = HostAssembly(
            store: store, attachments: attachments, identity: identity,
            inspect: { checks in
                let found = try await store.inspect(checksIntegrity: checks)
                return StoreSummary(
                    contents: found.contents, freeBytes: found.freeBytes, logFileBytes: found.logFileBytes)
            }, upstreams: upstreams,
            configuration: configuration, packages: packages, console: ConsoleState(),
            seen: seen,
            figures: FigureHistory(settings.gateway.metrics, clock: SystemClock()) {
                try await seen.count(in: store)
            },
            logs: logs,
            readiness: readiness,
            started: SystemClock().now(), log: log, logger: logger,
            metrics: settings.gateway.metrics, traces: traces, isRestorePending: { opened.isRestorePending },
            backups: backups.map { GatewayBackups(service: $0, target: target?.place ?? "") })
        let first = try await assembly.generation(plan)
        (self.first, current) = (first, Current(first))
        let (adapters, liveFeeds) = (first.adapters, first.liveFeeds)
        readiness.use(adapters)
        let metrics = HostMetrics(store: store, upstreams: upstreams, traces: traces, backups: backups)
        settings.gateway.metrics.collect(as: "host") { metrics.collect(into: &$0) }
        try await DemoAccounts(settings.demoAccounts).create(in: identity, log: log)
        let start = AdapterStart(
            store: store, identity: identity, liveFeeds: liveFeeds, push: push,
            serviceOperations: adapters.flatMap(\.serviceOperations),
            upstreams: plan.upstreams(of: upstreams.all),
            samples: SampleLoading(isWanted: settings.loadsSampleData), scratch: scratch)
        let starts = Current(start)
        self.starts = starts
        supervisor = AdapterSupervisor(adapters, limits: settings.adapters, clock: SystemClock()) {
            try await starts.value.run($0)
        }
        supervisor.begin(liveFeeds.tasks)
        // Before the deadlines of their starts begin: there may be many.
        for served in adapters { await start.samples.loadEarly(served, in: store) }
        if settings.loadsSampleData { FreeMemory.giveBack() }
    }

    /// After the last request.
    func stop() async {
        await supervisor.stop()
        // Nothing is written any more.
        await backups?.finish()
        await traces.exporter.flush()
        await upstreams.stop()
        await store.close()
    }
}

/// What answers from one configuration on until the next.
struct HostGeneration: Sendable {
    let adapters: [ServedAdapter]
    let sync: SyncServices
    let liveFeeds: LiveFeedServices
    let gateway: Gateway
    /// Of the admin socket.
    let administration: Gateway
    /// Of the admin listener, which exists where one is configured.
    let administrationListener: Gateway
    let maintenance: StoreMaintenance

    func adapter(_ name: AdapterName) -> ServedAdapter? { adapters.first { $0.declaration.name == name } }
}

/// The listeners, which outlive configurations.
struct RunningServers: Sendable {
    let front: GatewayServer
    let administration: GatewayServer
    /// Nil: there is the admin socket alone.
    let administrationListener: GatewayServer?
    let certificate: Current<ServerCertificate>?
    /// That of the admin listener.
    let administrationCertificate: Current<ServerCertificate>?
    let sync: CurrentSync
    let logs: HostLogs
    /// Of the admin listener.
    let administrationPort: ListeningPort

    /// Requests and connections from now on belong to this generation. Returns the requests that do not yet.
    func use(_ generation: HostGeneration, _ settings: HostSettings) -> [RequestsUnderWay] {
        let frontSettings = settings.frontSettings(.tcp(host: settings.host, port: settings.port), logs)
        if let renewed = settings.mount.certificate { certificate?.replace(with: renewed) }
        var requests = [
            front.replace(generation.gateway, frontSettings),
            administration.replace(generation.administration, settings.administrationSettings(logs)),
        ]
        if let administrationListener, let listener = settings.adminListener {
            if let renewed = listener.certificate { administrationCertificate?.replace(with: renewed) }
            requests.append(
                administrationListener.replace(
                    generation.administrationListener,
                    settings.administrationSettings(listener, port: administrationPort, logs)))
        }
        sync.replace(with: generation.sync)
        return requests
    }
}

/// The sync services that live streams are opened with; another configuration may bring others.
final class CurrentSync: Sendable {
    private let sync: Mutex<SyncServices>
    let changes: AsyncStream<SyncServices>
    private let continuation: AsyncStream<SyncServices>.Continuation

    init(_ sync: SyncServices) {
        self.sync = Mutex(sync)
        (changes, continuation) = AsyncStream.makeStream()
    }

    var value: SyncServices { sync.withLock { $0 } }

    /// Streams of the services before end with a `reconnect` event.
    func replace(with other: SyncServices) {
        let old = sync.withLock { sync in
            defer { sync = other }
            return sync
        }
        guard !old.isSame(as: other) else { return }
        continuation.yield(other)
        old.stop()
    }
}

/// A value that another configuration replaces.
final class Current<Value: Sendable>: Sendable {
    private let state: Mutex<Value>

    init(_ value: Value) {
        state = Mutex(value)
    }

    var value: Value { state.withLock { $0 } }

    func replace(with other: Value) { state.withLock { $0 = other } }
}

/// What the gateways of every configuration have in common.
struct HostAssembly: Sendable {
    let store: any BackupStore & MirrorStore
    let attachments: AttachmentFiles
    let identity: Identity
    let inspect: StoreInspector
    let upstreams: HostUpstreams
    let configuration: any ConfigurationControl
    let packages: any AdapterDeployment
    let console: ConsoleState
    let seen: SeenDevices
    let figures: FigureHistory
    let logs: any LogDirectory
    let readiness: Readiness
    let started: WireDate
    let log: Log
    let logger: Logger
    /// Counts and spans go on where the configuration changes.
    let metrics: MetricRegistry
    let traces: HostTraces
    let isRestorePending: @Sendable () -> Bool
    let backups: (any BackupControl)?

    /// What answers from this plan on. `old`: what has answered; nil: nothing. `changed`: the adapters of which another generation takes
    /// the place; the others are the same. `keepsSync`: none of them is declared otherwise, so that all have the parts that they
    /// had. Throws ``RouteTable/Conflict``.
    func generation(
        _ plan: HostPlan, after old: HostGeneration? = nil, changed: Set<AdapterName> = [], keepsSync: Bool = false
    ) async throws -> HostGeneration {
        let settings = plan.settings
        let adapters = try await adapters(plan, after: old, changed: changed)
        let kept = keepsSync ? old?.sync : nil
        let sync =
            if let kept { kept } else {
                try await SyncServices(
                    adapters: adapters, store: store, attachments: attachments, settings: settings.gateway.sync,
                    clock: SystemClock(), seen: seen)
            }
        let liveFeeds = try LiveFeedServices(
            old?.liveFeeds, adapters: adapters, store: store, sync: sync, settings: settings.gateway.liveFeeds, log: log
        )
        var gatewaySettings = settings.gateway
        (gatewaySettings.metrics, gatewaySettings.tracer) = (metrics, traces.tracer(settings.traces))
        let maintenance = maintenance(plan)
        let console = settings.adminListener.map { (settings: $0.console, state: self.console) }
        let administration = try Gateway(
            administrationOf: adapters, store: store, identity: identity, sync: sync, maintenance: maintenance,
            inspect: inspect, upstreams: upstreams, configuration: configuration, logs: logs,
            packages: packages, backups: backups,
            console: console ?? (settings: ConsoleSettings(), state: self.console),
            figures: figures, settings: gatewaySettings, readiness: readiness,
            started: started, clock: SystemClock(), log: log, isRestorePending: isRestorePending,
            succeeding: old?.administration)
        return HostGeneration(
            adapters: adapters, sync: sync, liveFeeds: liveFeeds,
            gateway: try Gateway(
                adapters: adapters, store: store, identity: identity, sync: sync, liveFeeds: liveFeeds,
                settings: gatewaySettings, readiness: readiness, clock: SystemClock(), log: log,
                succeeding: old?.gateway), administration: administration,
            administrationListener: try Gateway(
                listenerOf: administration, identity: identity,
                certificates: settings.adminListener?.certificateRole.map {
                    AdminCertificates(role: $0, name: CertificateSubject.name)
                }, console: console, succeeding: old?.administrationListener), maintenance: maintenance)
    }

    private func adapters(
        _ plan: HostPlan, after old: HostGeneration?, changed: Set<AdapterName>
    ) async throws -> [ServedAdapter] {
        let settings = plan.settings
        func kept(_ planned: HostPlan.PlannedAdapter) -> ServedAdapter? {
            let name = planned.declaration.name
            return changed.contains(name) ? nil : old?.adapter(name)
        }
        let made = Set(plan.adapters.filter { kept($0) == nil }.map(\.declaration.name))
        let mirroring = try await MirrorSetup(
            plan.mirrors.filter { made.contains($0.adapter) }, in: store,
            ofCallers: Set(settings.upstreams.filter(\.value.actsForCallers).keys), clock: SystemClock())
        let adapters = plan.adapters.map { planned in
            kept(planned)
                ?? ServedAdapter(
                    planned, limits: settings.adapters, mirroring: mirroring,
                    succeeding: old?.adapter(planned.declaration.name), logger: logger)
        }
        guard plan.hasWritableMirror else { return adapters }
        return adapters + [old?.adapter(PendingWriteRecords.declaration.name) ?? .pendingWrites(log: log)]
    }

    private func maintenance(_ plan: HostPlan) -> StoreMaintenance {
        let sync = plan.settings.gateway.sync
        return StoreMaintenance(
            store: store,
            attachments: AttachmentMaintenance(
                attachments, store: store, collections: plan.collections,
                window: sync.attachmentWindow / .seconds(1), clock: SystemClock()),
            windows: RetentionWindows(sync), clock: SystemClock())
    }
}

extension HostPlan {
    /// Those that each adapter's options name.
    func upstreams(of all: [UpstreamName: any Upstream]) -> [AdapterName: AdapterUpstreams] {
        Dictionary(
            adapters.map { planned in
                (
                    planned.declaration.name,
                    AdapterUpstreams(
                        own: planned.upstream.flatMap { all[$0] },
                        all: all.filter { planned.upstreams.contains($0.key) })
                )
            }, uniquingKeysWith: { first, _ in first })
    }

    var collections: [CollectionDeclaration] {
        Identity.collections() + SyncServices.collections() + PendingWriteRecords.collections
            + adapters.flatMap { planned in
                planned.declaration.entities.map {
                    CollectionDeclaration(adapter: planned.declaration.name, entity: $0)
                }
            }
    }
}

extension HostPlan {
    var hasWritableMirror: Bool {
        adapters.contains { $0.declaration.mirrors.contains { $0.writing != .none } }
    }

    var mirrors: [CollectionID] {
        adapters.flatMap { planned in
            planned.declaration.mirrors.map { CollectionID(planned.declaration.name, $0.entity) }
        }
    }
}

extension ServedAdapter {
    convenience init(
        _ planned: HostPlan.PlannedAdapter, limits: AdapterLimits, mirroring: MirrorSetup,
        succeeding old: ServedAdapter? = nil, logger: Logger
    ) {
        planned.workerLog?.use(Log.sink(logger, label: planned.declaration.name.text))
        self.init(
            declaration: planned.declaration, adapter: planned.adapter, limits: limits,
            mirroring: mirroring, succeeding: old, isPlaceholder: planned.isAbsent,
            log: Log(logger, label: planned.declaration.name.text))
    }
}
