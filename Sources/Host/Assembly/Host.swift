import AdapterKit
import AttachmentFiles
import Backups
import Foundation
import Gateway
import Identity
import Logging
import Push
import RecordStorage
import SQLiteStore
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
    let starts: CurrentStart
    /// What answers until the configuration changes.
    let first: HostGeneration
    let assembly: HostAssembly
    let current: CurrentGeneration
    let store: SQLiteStore
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
        let restore = StoreRestore(path: settings.storePath.path)
        let isRestored = restore.isPrepared
        let store = try SQLiteStore(Self.storeSettings(settings, acceptsStore: acceptsStore))
        self.store = store
        self.logger = logger
        // The store's lock is this process': no other has workers below this directory.
        WorkerFolders(settings.dataDirectory.path).removeLeftovers(log: log)
        if isRestored {
            log.info("A restored backup took the store's place.", ["replaced": "\(restore.replaced)"])
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
        if isRestored { try await identity.record(AuditEvent(.storeRestored, actor: Principal.system.id)) }
        let upstreams = try HostUpstreams(
            transports, settings.upstreams, identity: identity, log: Log(logger, label: "upstream"))
        self.upstreams = upstreams
        let traces = HostTraces(log: Log(logger, label: "traces"))
        traces.use(settings.traces, try settings.traces?.destination(in: upstreams.all))
        self.traces = traces
        push = CurrentPush(try PushServices(settings.push, upstreams.all, logger: logger))
        let mirroring = try await MirrorSetup(
            plan.mirrors, in: store, ofCallers: Set(settings.upstreams.filter(\.value.actsForCallers).keys),
            clock: SystemClock())
        let adapters =
            plan.adapters.map {
                ServedAdapter($0, limits: settings.adapters, mirroring: mirroring, logger: logger)
            } + (plan.hasWritableMirror ? [.pendingWrites(log: log)] : [])
        scratch = try ScratchDirectory(settings.dataDirectory.appending(path: ScratchDirectory.folderName))
        let attachments = try AttachmentFiles(
            in: settings.attachmentFolder,
            limits: AttachmentLimits(settings.gateway.sync), clock: SystemClock())
        let sync = try await SyncServices(
            adapters: adapters, store: store, attachments: attachments, settings: settings.gateway.sync,
            clock: SystemClock())
        let feeds = try FeedServices(
            adapters: adapters, store: store, sync: sync, settings: settings.gateway.feeds, log: log)
        let watch = StoreWatch(store: store, attachments: attachments)
        self.watch = watch
        readiness = Readiness(adapters: adapters) { watch.problem }
        let target = try settings.backups?.target(upstreams.all)
        let backups = settings.backups.flatMap { plan in
            target.map {
                BackupService(
                    plan.settings, target: $0, store: store, attachments: attachments, clock: SystemClock(),
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
            figures: FigureHistory(settings.gateway.metrics, clock: SystemClock()) {
                try await sync.seen.count(in: store)
            },
            logs: logs,
            readiness: readiness,
            started: SystemClock().now(), log: log, logger: logger,
            metrics: settings.gateway.metrics, traces: traces, isRestorePending: { restore.isPrepared },
            backups: backups.map { GatewayBackups(service: $0, target: target?.place ?? "") })
        let first = try assembly.generation(
            plan, GenerationParts(adapters: adapters, sync: sync, feeds: feeds), after: nil)
        (self.first, current) = (first, CurrentGeneration(first))
        let metrics = HostMetrics(store: store, upstreams: upstreams, traces: traces, backups: backups)
        settings.gateway.metrics.collect(as: "host") { metrics.collect(into: &$0) }
        try await DemoAccounts(settings.demoAccounts).create(in: identity, log: log)
        let start = AdapterStart(
            store: store, identity: identity, feeds: feeds, push: push,
            serviceOperations: adapters.flatMap(\.serviceOperations),
            upstreams: plan.upstreams(of: upstreams.all),
            samples: SampleLoading(isWanted: settings.loadsSampleData), scratch: scratch)
        let starts = CurrentStart(start)
        self.starts = starts
        supervisor = AdapterSupervisor(adapters, limits: settings.adapters, clock: SystemClock()) {
            try await starts.value.run($0)
        }
        supervisor.begin(feeds.tasks)
        // Before the deadlines of their starts begin: there may be many.
        for served in adapters { await start.samples.loadEarly(served, in: store) }
        if settings.loadsSampleData { FreeMemory.giveBack() }
    }

    static func storeSettings(_ settings: HostSettings, acceptsStore: Bool) -> SQLiteStoreSettings {
        let attachments = settings.attachmentFolder
        var store = SQLiteStoreSettings(
            path: settings.storePath.path, longReads: settings.storeLongReads,
            longReadTurn: settings.storeLongReadTurn, streams: settings.storeStreams, clock: SystemClock())
        // In the data directory even where the store is elsewhere: on a disk that may not be mounted.
        store.markerPath = settings.dataDirectory.appendingPathComponent("store.marker").path
        store.companions = AttachmentFiles.areKept(in: attachments) ? "attachments in the data directory" : nil
        store.acceptsFiles = acceptsStore
        return store
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
    let feeds: FeedServices
    let gateway: Gateway
    /// Of the admin socket.
    let administration: Gateway
    /// Of the admin listener, which exists where one is configured.
    let administrationListener: Gateway
    let maintenance: StoreMaintenance

    func adapter(_ name: AdapterName) -> ServedAdapter? { adapters.first { $0.declaration.name == name } }
}

/// What answers now.
final class CurrentGeneration: Sendable {
    private let generation: Mutex<HostGeneration>

    init(_ generation: HostGeneration) {
        self.generation = Mutex(generation)
    }

    var value: HostGeneration { generation.withLock { $0 } }

    func replace(with other: HostGeneration) { generation.withLock { $0 = other } }
}

/// What a generation's gateways are made of.
struct GenerationParts: Sendable {
    let adapters: [ServedAdapter]
    let sync: SyncServices
    let feeds: FeedServices
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

    /// Throws ``RouteTable/Conflict``.
    func generation(
        _ plan: HostPlan, _ parts: GenerationParts, after old: HostGeneration?
    ) throws -> HostGeneration {
        let (settings, adapters, sync) = (plan.settings, parts.adapters, parts.sync)
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
            adapters: adapters, sync: sync, feeds: parts.feeds,
            gateway: try Gateway(
                adapters: adapters, store: store, identity: identity, sync: sync, feeds: parts.feeds,
                settings: gatewaySettings, readiness: readiness, clock: SystemClock(), log: log,
                succeeding: old?.gateway), administration: administration,
            administrationListener: try Gateway(
                listenerOf: administration, identity: identity,
                certificates: settings.adminListener?.certificateRole.map {
                    AdminCertificates(role: $0, name: CertificateSubject.name)
                }, console: console, succeeding: old?.administrationListener), maintenance: maintenance)
    }

    /// The parts of the generation after `old`. `changed`: the adapters of which another generation takes the place; the others
    /// are the same. `keepsSync`: none of them is declared otherwise, so that all have the parts that they had.
    func parts(
        _ plan: HostPlan, after old: HostGeneration, changed: Set<AdapterName>, keepsSync: Bool
    ) async throws -> GenerationParts {
        let settings = plan.settings
        let mirroring = try await MirrorSetup(
            plan.mirrors.filter { changed.contains($0.adapter) }, in: store,
            ofCallers: Set(settings.upstreams.filter(\.value.actsForCallers).keys), clock: SystemClock())
        var adapters = plan.adapters.map { planned in
            let before = old.adapter(planned.declaration.name)
            if let before, !changed.contains(planned.declaration.name) { return before }
            return ServedAdapter(
                planned, limits: settings.adapters, mirroring: mirroring, succeeding: before, logger: logger)
        }
        if plan.hasWritableMirror {
            adapters.append(old.adapter(PendingWriteRecords.declaration.name) ?? .pendingWrites(log: log))
        }
        let sync =
            keepsSync
            ? old.sync
            : try await SyncServices(
                adapters: adapters, store: store, attachments: attachments, settings: settings.gateway.sync,
                clock: SystemClock(), seen: old.sync.seen)
        let feeds = try FeedServices(
            old.feeds, adapters: adapters, store: store, sync: sync, settings: settings.gateway.feeds, log: log)
        return GenerationParts(adapters: adapters, sync: sync, feeds: feeds)
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

/// One attempt to start an adapter: what the host gives it.
struct AdapterStart: Sendable {
    let store: any Store
    let identity: Identity
    var feeds: FeedServices
    let push: any PushSender
    let serviceOperations: [any ServiceOperations]
    var upstreams: [AdapterName: AdapterUpstreams]
    let samples: SampleLoading
    let scratch: ScratchDirectory

    func run(_ served: ServedAdapter) async throws {
        let name = served.declaration.name
        try await samples.load(served, in: store)
        try await served.start(
            in: store, accounts: identity.accounts, clock: SystemClock(), live: feeds.signals(of: name),
            push: push,
            upstreams: upstreams[name] ?? AdapterUpstreams(),
            serviceOperations: serviceOperations, scratch: scratch)
    }

    /// By another configuration.
    func with(_ upstreams: [AdapterName: AdapterUpstreams], _ feeds: FeedServices) -> AdapterStart {
        var other = self
        (other.upstreams, other.feeds) = (upstreams, feeds)
        return other
    }
}

/// What adapters are started with now.
final class CurrentStart: Sendable {
    private let start: Mutex<AdapterStart>

    init(_ start: AdapterStart) {
        self.start = Mutex(start)
    }

    var value: AdapterStart { start.withLock { $0 } }

    func replace(with other: AdapterStart) { start.withLock { $0 = other } }
}

/// Loads each adapter's sample records once, where they are wanted.
final class SampleLoading: Sendable {
    private let isWanted: Bool
    private let loaded = Mutex<Set<AdapterName>>([])

    init(isWanted: Bool) {
        self.isWanted = isWanted
    }

    func load(_ served: ServedAdapter, in store: any Store) async throws {
        let name = served.declaration.name
        guard isWanted, !loaded.withLock({ $0.contains(name) }) else { return }
        try await SampleData(served, store: store).load()
        loaded.withLock { _ = $0.insert(name) }
    }

    /// Where it fails, the adapter's start tries again, and fails by it.
    func loadEarly(_ served: ServedAdapter, in store: any Store) async {
        do {
            try await load(served, in: store)
        } catch {
            served.log.error("sample records cannot be loaded", ["detail": .text("\(error)")])
        }
    }
}

/// Fills an adapter that has no records with those it brings for showing itself. What is mirrored of another system is none
/// of them.
struct SampleData {
    private let served: ServedAdapter
    private let records: any RecordStore

    init(_ served: ServedAdapter, store: any Store) {
        self.served = served
        records = served.ownRecords(in: store)
    }

    /// One transaction, so that a first start that is interrupted leaves nothing half-loaded.
    func load() async throws {
        let mirrored = Set(served.declaration.mirrors.map(\.entity))
        for entity in served.declaration.entities where !mirrored.contains(entity.name) {
            if try await records.count(nil, in: entity.name) > 0 { return }
        }
        let samples = try served.adapter.sampleRecords().filter { !$0.records.isEmpty }
        guard !samples.isEmpty else { return }
        served.log.info(
            "loading sample records",
            ["entities": .text(samples.map { "\($0.entity) \($0.records.count)" }.joined(separator: ", "))])
        let changes = samples.flatMap { sample in
            sample.records.map { RecordChange(sample.entity, .create(nil, $0)) }
        }
        _ = try await records.apply(changes)
        served.log.info("sample records loaded", ["records": .count(changes.count)])
    }
}

/// The accounts of the demonstration, made where they are not there yet.
struct DemoAccounts {
    private let accounts: [HostSettings.DemoAccount]

    init(_ accounts: [HostSettings.DemoAccount]) {
        self.accounts = accounts
    }

    func create(in identity: Identity, log: Log) async throws {
        for account in accounts where try await identity.administration.account(named: account.name) == nil {
            try await identity.administration.addAccount(
                NewAccount(account.name, roles: account.roles, password: account.password), by: .system)
            log.info("demo account created", ["account": .text("\(account.name)")])
        }
    }
}
