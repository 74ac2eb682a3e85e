import AdapterKit
import AttachmentFiles
import Foundation
import Gateway
import Identity
import Logging
import SQLiteStore
import ServiceLifecycle
import SyncEngine
import Upstream

/// Everything that runs, put together from a plan, in the order in which the parts need each other.
struct Host {
    let store: any Store
    let upkeep: StoreUpkeep
    let identity: Identity
    let adapters: [ServedAdapter]
    let sync: SyncServices
    let feeds: FeedServices
    let gateway: Gateway
    let administration: Gateway
    let readiness = Readiness()
    private let upstreams: [HTTPUpstream]
    private let push: PushWiring

    init(_ plan: HostPlan, logger: Logger) async throws {
        let settings = plan.settings
        try FileManager.default.createDirectory(
            at: settings.dataDirectory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let log = Log(logger, label: "portico")
        let store = try SQLiteStore(
            SQLiteStoreSettings(
                path: settings.storePath.path, longReads: settings.storeLongReads, streams: settings.storeStreams,
                clock: SystemClock()))
        self.store = store
        try await store.install(plan.collections)
        push = try PushWiring(settings.push, logger: logger)
        upstreams = settings.providers.map { HTTPUpstream($0.upstream, log: Log(logger, label: "upstream")) }
        identity = try await Identity(
            store: store, configuration: settings.identity, clock: SystemClock(),
            providers: zip(settings.providers, upstreams).map { $0.setup($1) }, log: Log(logger, label: "identity"))
        adapters = try plan.adapters.map { try ServedAdapter($0, logger: logger) }
        let attachments = try AttachmentFiles(
            in: settings.dataDirectory.appendingPathComponent(AttachmentFiles.folderName),
            limits: AttachmentLimits(settings.gateway.sync), clock: SystemClock())
        sync = try await SyncServices(
            adapters: adapters, store: store, attachments: attachments, settings: settings.gateway.sync,
            clock: SystemClock())
        upkeep = StoreUpkeep(
            store: store,
            attachments: AttachmentUpkeep(
                attachments, store: store, collections: plan.collections,
                window: settings.gateway.sync.attachmentWindow / .seconds(1), clock: SystemClock()),
            windows: UpkeepWindows(settings.gateway.sync), clock: SystemClock())
        feeds = try FeedServices(
            adapters: adapters, store: store, sync: sync, settings: settings.gateway.feeds, log: log)
        gateway = try Gateway(
            adapters: adapters, store: store, identity: identity, sync: sync, feeds: feeds,
            settings: settings.gateway, readiness: readiness,
            clock: SystemClock(), log: log)
        administration = try Gateway(
            administrationOf: adapters, store: store, identity: identity, sync: sync, upkeep: upkeep,
            settings: settings.gateway,
            readiness: readiness, clock: SystemClock(), log: log)
        try await DemoAccounts(settings.demoAccounts).create(in: identity)
        try await start(portals: plan.adapters.map(\.portal), loadingSamples: settings.loadsSampleData)
    }

    private func start(portals: [ProviderName?], loadingSamples: Bool) async throws {
        for (served, portal) in zip(adapters, portals) {
            if loadingSamples { try await SampleData(served, store: store).load() }
            try await served.start(
                in: store, accounts: identity.accounts, clock: SystemClock(),
                live: feeds.signals(of: served.declaration.name), push: push.sender,
                portal: portal.flatMap { identity.callerUpstream($0) },
                serviceOperations: adapters.flatMap(\.adapter.serviceOperations))
        }
    }

    /// After the last request.
    func stop() async {
        for served in adapters { await served.adapter.stop() }
        for upstream in upstreams + push.upstreams { await upstream.stop() }
        await store.close()
    }
}

extension HostPlan {
    var collections: [CollectionDeclaration] {
        Identity.collections() + SyncServices.collections()
            + adapters.flatMap { planned in
                planned.declaration.entities.map {
                    CollectionDeclaration(adapter: planned.declaration.name, entity: $0)
                }
            }
    }
}

extension ServedAdapter {
    convenience init(_ planned: HostPlan.PlannedAdapter, logger: Logger) throws {
        self.init(
            declaration: planned.declaration, adapter: try planned.module.make(planned.configuration),
            access: planned.access, log: Log(logger, label: planned.declaration.name.text))
    }
}
