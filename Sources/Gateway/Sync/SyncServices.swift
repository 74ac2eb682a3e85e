import AdapterKit
import Crypto
import Identity
import MirrorEngine
import RecordStorage
import SyncEngine

/// The dependencies of the sync endpoints. Lives as long as the host runs.
public struct SyncServices: Sendable {
    let catalogue: SyncCatalogue
    let pulls: PullMachine
    let pushes: PushMachine
    let resolvers: ConflictResolvers
    let live: LiveBroadcaster
    let attachments: any AttachmentStore
    let rights: AttachmentRights
    let settings: SyncSettings
    /// The devices that were seen since the host started.
    public let seen: SeenDevices
    private let mirrors: [(name: String, mirror: ServedMirror)]
    private let callerMirrors: [(name: String, mirror: AdapterCallerMirror)]

    /// To be installed in the store beforehand.
    public static func collections() -> [CollectionDeclaration] { CheckpointKey.collections }

    /// Loads the key of the checkpoints, and makes it in an empty store. `seen`: what an earlier configuration's have
    /// seen; nil: none.
    public init(
        adapters: [ServedAdapter], store: any Store, attachments: any AttachmentStore, settings: SyncSettings,
        clock: any WallClock, seen: SeenDevices? = nil
    ) async throws {
        self.seen = seen ?? SeenDevices(clock: clock)
        self.attachments = attachments
        let key = try await CheckpointKey.load(from: store)
        catalogue = SyncCatalogue(adapters.map(\.declaration))
        rights = AttachmentRights(catalogue, attachments, store: store)
        pulls = PullMachine(catalogue: catalogue, epoch: store.epoch, seal: key, limits: settings.pages)
        resolvers = ConflictResolvers(adapters)
        pushes = PushMachine(catalogue: catalogue, epoch: store.epoch, seal: key)
        live = LiveBroadcaster(
            store: store, pulls: pulls,
            limits: LiveLimits(streams: settings.streams, perPrincipal: settings.streamsPerPrincipal),
            heartbeat: settings.heartbeat, clock: clock)
        self.settings = settings
        let catalogue = catalogue
        mirrors = adapters.flatMap(\.mirrors).compactMap { mirror in
            catalogue[mirror.id].map { ($0.name, mirror) }
        }
        callerMirrors = adapters.flatMap(\.callerMirrors).compactMap { mirror in
            catalogue[mirror.mirror.id].map { ($0.name, mirror) }
        }
    }

    /// Has the mirrors refreshed that a pull of these collections reads (nil: all that the caller reaches), where their
    /// rows are not fresh. The pull does not wait for it.
    func refreshMirrors(_ names: [String]?, for caller: Caller, watchedBy credentials: CredentialWatch?) async {
        func isRead(_ name: String) -> Bool {
            names?.contains(name) ?? true && catalogue[name]?.isReadable(by: caller.syncing) ?? false
        }
        for (name, mirror) in mirrors where isRead(name) { mirror.ask(by: .pull) }
        for (name, mirror) in callerMirrors where isRead(name) { await mirror.ask(for: caller, watchedBy: credentials) }
    }

    /// Wakes live streams until it is cancelled.
    public func run() async { await live.run() }

    /// Whether both admit the same live streams.
    public func isSame(as other: SyncServices) -> Bool { live === other.live }

    /// Ends all live streams with a `reconnect` event and opens no more.
    public func stop() { live.stop() }
}

extension Caller {
    /// Whom to sync for, as far as the credential reaches.
    var syncing: SyncCaller {
        SyncCaller(
            principal, adapters: authentication?.scope.adapters, mayWrite: authentication?.scope.mayWrite ?? true)
    }
}

/// Settings of sync, each value by its name in the configuration reference.
public struct SyncSettings: Sendable, Equatable {
    public var pages = PullLimits()
    /// `sync.limits.mutations`: of one push.
    public var mutations = 1_000
    /// `limits.streamsPerPrincipal`: live streams and long polls of one principal at once.
    public var streamsPerPrincipal = 32
    /// `sync.limits.streams`: of all together.
    public var streams = 20_000
    /// `sync.live.heartbeat`: the longest silence on a stream.
    public var heartbeat = Duration.seconds(25)
    /// `sync.live.longestPoll`: how long a long poll waits at most.
    public var longestPoll = Duration.seconds(25)
    /// `sync.live.page`: operations of one event.
    public var livePage = 200

    /// `sync.limits.attachment`: bytes of an attachment.
    public var largestAttachment = 256 << 20
    /// `sync.limits.attachments`: bytes of all of them.
    public var attachments = 64 << 30
    /// `sync.limits.uploads`: uploads under way.
    public var uploads = 10_000
    /// `sync.limits.uploadsPerPrincipal`: those of one principal.
    public var uploadsPerPrincipal = 32
    /// `sync.limits.unnamedPerPrincipal`: bytes that one principal has uploaded and no record names.
    public var unnamedPerPrincipal = 8 << 30
    /// `sync.attachments.window`: how long an attachment stays that no record names, and an upload that no client goes on
    /// with.
    public var attachmentWindow = Duration.seconds(7 * 86_400)
    /// `sync.keptCopies`: how long what lost a conflict or was rejected is kept.
    public var keptCopies = Duration.seconds(90 * 86_400)
    /// `sync.offlineWindow`: how long the log reaches back.
    public var offlineWindow = Duration.seconds(30 * 86_400)

    public init() {}
}

/// The adapters, as far as they settle conflicts.
struct ConflictResolvers: Sendable {
    private let adapters: [AdapterName: ServedAdapter]

    init(_ adapters: [ServedAdapter]) {
        self.adapters = Dictionary(adapters.map { ($0.declaration.name, $0) }, uniquingKeysWith: { $1 })
    }

    func decide(_ query: PendingConflict) async -> Result<ConflictResolution, PorticoError> {
        guard let served = adapters[query.adapter] else {
            return .failure(PorticoError(.adapterUnavailable, "The adapter is not there."))
        }
        do {
            return .success(try await served.parts.answering.running.resolve(query.conflict))
        } catch let error as PorticoError {
            return .failure(error)
        } catch {
            // Reported as an adapter's defect, and not tried for ever: those behind it in the outbox go on.
            served.log.error("settling a conflict failed", ["detail": .text("\(error)")])
            return .failure(PorticoError(.recordConflict, "The conflict could not be settled."))
        }
    }
}

/// HMAC-SHA256 (RFC 2104) under a secret that the store keeps: checkpoints survive a restart, and a copy of the store
/// knows its own.
struct CheckpointKey: CheckpointSeal {
    private let key: SymmetricKey

    private static let adapter: AdapterName = "sync"
    private static let id: RecordID = "checkpoints"
    private static let entity = Entity(
        "keys", summary: "Secrets of the sync protocol.", key: EntityKey("id", chosenBy: .caller),
        fields: [
            Field("id", .string(maximumLength: 64), isRequired: true),
            Field("bytes", .data(maximumBytes: 64), isRequired: true),
        ], rows: RowRules(read: .nobody, write: .nobody), writers: .nobody, conflictPolicy: .reject,
        exposure: .adapterOnly)

    static let collections = [CollectionDeclaration(adapter: adapter, entity: entity)]

    /// Makes the key where there is none. Two processes cannot: one has the store.
    static func load(from store: any Store) async throws -> CheckpointKey {
        let collection = CollectionID(adapter, entity.name)
        if let bytes = try await store.record(id, in: collection, visible: nil)?["bytes"].dataValue {
            return CheckpointKey(key: SymmetricKey(data: bytes))
        }
        let key = SymmetricKey(size: .bits256)
        let bytes = key.withUnsafeBytes { Array($0) }
        let step = WriteTransaction.Step(
            adapter: adapter, change: RecordChange(entity.name, .create(id, ["bytes": .data(bytes)])))
        _ = try await store.write(WriteTransaction([step], author: "system"))
        return CheckpointKey(key: key)
    }

    func code(for bytes: [UInt8]) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: bytes, using: key).prefix(Self.codeLength))
    }

    /// The whole of a truncated code is compared, in constant time.
    func isCode(_ code: [UInt8], for bytes: [UInt8]) -> Bool {
        let expected = self.code(for: bytes)
        guard code.count == expected.count else { return false }
        return zip(code, expected).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }

    /// RFC 2104, section 5: half of the digest at least.
    private static let codeLength = 16
}
