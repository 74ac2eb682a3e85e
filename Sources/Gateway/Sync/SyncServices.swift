import AdapterKit
import Identity
import RecordStorage
import SyncEngine

/// The offline-sync room: what its endpoints share, for as long as the host runs.
public struct SyncServices: Sendable {
    let catalogue: SyncCatalogue
    let pulls: PullMachine
    let pushes: PushMachine
    let resolvers: ConflictResolvers
    let live: LiveBroadcaster
    let attachments: any AttachmentStore
    let rights: AttachmentRights
    let settings: SyncSettings

    /// To be installed in the store beforehand.
    public static func collections() -> [CollectionDeclaration] { CheckpointKey.collections }

    /// Loads the key of the checkpoints, and makes it in an empty store.
    public init(
        adapters: [ServedAdapter], store: any Store, attachments: any AttachmentStore, settings: SyncSettings,
        clock: any WallClock
    ) async throws {
        self.attachments = attachments
        let key = try await CheckpointKey.load(from: store)
        catalogue = SyncCatalogue(adapters.map { (declaration: $0.declaration, access: $0.access) })
        rights = AttachmentRights(catalogue, attachments, store: store)
        pulls = PullMachine(catalogue: catalogue, epoch: store.epoch, seal: key, limits: settings.pages)
        resolvers = ConflictResolvers(adapters)
        pushes = PushMachine(catalogue: catalogue, epoch: store.epoch, seal: key)
        live = LiveBroadcaster(
            store: store, pulls: pulls,
            limits: LiveLimits(streams: settings.streams, perPrincipal: settings.streamsPerPrincipal),
            heartbeat: settings.heartbeat, clock: clock)
        self.settings = settings
    }

    /// Wakes live streams until it is cancelled.
    public func run() async { await live.run() }

    /// Ends all live streams and opens no more; their clients are told to come back.
    public func stop() { live.stop() }
}

extension Caller {
    /// Whom to sync for, as far as the credential reaches.
    var syncing: SyncCaller {
        SyncCaller(
            principal, adapters: authentication?.scope.adapters, mayWrite: authentication?.scope.mayWrite ?? true)
    }
}
