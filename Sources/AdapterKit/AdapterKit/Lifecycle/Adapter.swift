/// A running adapter. The host starts it, calls it from any number of tasks at once, and stops it.
///
/// Where another one takes its place (another option, declaration, version or program), both are there for a while: the other
/// one starts while this one answers; then ``drain()`` ends what this one does beside its calls, ``activate()`` begins it in
/// the other one, and ``stop()`` follows the last call of this one.
public protocol Adapter: Sendable {
    /// Called before any call; the tables are there. It may block its thread.
    ///
    /// Where it throws, the adapter does not serve, the host says why, and calls it again later. Where it takes longer
    /// than `limits.adapterStart`, its task is cancelled. It is never called twice at once, and not after it succeeded. What
    /// goes on beside calls does not begin here, but with ``activate()``: another instance may still be doing it.
    func start(_ context: AdapterContext) async throws

    /// Begins what it does beside its calls, in tasks of its own, and waits for nothing. Called once, after ``start(_:)``, when
    /// no other instance does it, here or in another process.
    func activate()

    /// Ends what it does beside its calls, and returns when that has ended. Called once after ``activate()``; calls still come.
    /// Where it takes longer than `limits.adapterStop`, calls go on, and the next instance begins with it only when this has
    /// returned, or ``stop()`` has.
    func drain() async

    /// Answers a call of a declared operation. Throws ``PorticoError`` for what the caller should learn; any other
    /// error is logged and answered as `server.internal`.
    func handle(_ call: Call) async throws -> OperationResult

    /// Answers a request below a declared mount. Throws as ``handle(_:)`` does.
    func handle(_ request: MountRequest) async throws -> MountResponse

    /// An error response in the shape of the mount's contract. The gateway asks for its own failures too. The
    /// status goes by the error's code unless the answer has one of its own. Nil: the gateway's own shape.
    ///
    /// A library is asked before ``start(_:)`` has succeeded too, to say that the adapter is not available. A worker is
    /// asked while it serves: where none runs, or it does not answer within a second, the response has the gateway's shape.
    func errorResponse(for error: PorticoError, status: Int, to request: MountFailure) -> MountResponse?

    /// Settles a conflict of an entity whose policy is ``ConflictPolicy/adapterDecides``. Called before anything is
    /// written, and again where the record changes meanwhile, so it changes nothing itself and answers the same for the
    /// same conflict.
    ///
    /// Throws ``PorticoError``: what passes (`upstream.failed`, `upstream.timeout`, `adapter.unavailable`,
    /// `server.overloaded`) has the device send the change again later, anything else rejects it.
    func resolve(_ conflict: RecordConflict) async throws -> ConflictResolution

    /// Answers a part of what its upstream has, for an entity that it declares a mirror of (``AdapterDeclaration/mirrors``).
    /// Called by the host, one page after the other, and never twice at once for one entity; no caller waits for it.
    ///
    /// Throws ``PorticoError`` or ``UpstreamFailure`` where the other system cannot be asked, `sync.fetchAgain` where it
    /// does not know ``MirrorRequest/since`` any more, and ``MirrorRefusal`` where its answer cannot be what was asked for.
    func readMirror(_ request: MirrorRequest) async throws -> MirrorPage

    /// Makes one change of a mirrored record in its upstream (``MirrorSource/writing``). Called by the host: one change of
    /// a record after the other, those of several records at once. It sends ``MirrorChange/idempotencyKey`` along, and
    /// sends the change once where ``MirrorChange/mayRepeat`` does not say otherwise.
    ///
    /// What it throws is understood as ``MirrorWriteResult/init(_:)`` says.
    func writeMirror(_ change: MirrorChange) async throws -> MirrorWriteResult

    /// Asks its upstream for one record of a mirror, to find out whether a change was made there.
    func readMirror(_ entity: EntityName, _ id: RecordID) async throws -> MirrorRecord

    /// Operations that it adds to services of other adapters.
    var serviceOperations: [any ServiceOperations] { get }

    /// Entries that a person finds on the front page. Shown to every caller, so they name nothing that needs a login to know.
    func frontPageEntries() async throws -> [FrontPageEntry]

    /// Records to show the adapter with, for a store that has none.
    func sampleRecords() throws -> [SampleRecords]

    /// Called once, after ``drain()`` and the last call, where the start had succeeded. One that takes longer than
    /// `limits.adapterStop` is cancelled and left behind.
    func stop() async
}

extension Adapter {
    public func start(_ context: AdapterContext) async throws {}
    public func activate() {}
    public func drain() async {}
    public func handle(_ request: MountRequest) async throws -> MountResponse {
        throw PorticoError(.routeNotFound, "There is nothing at this path.")
    }
    public func errorResponse(for error: PorticoError, status: Int, to request: MountFailure) -> MountResponse? { nil }

    public func resolve(_ conflict: RecordConflict) async throws -> ConflictResolution { .keep }
    public func readMirror(_ request: MirrorRequest) async throws -> MirrorPage {
        throw PorticoError(.adapterUnavailable, "This adapter mirrors no \(request.entity).")
    }
    public func writeMirror(_ change: MirrorChange) async throws -> MirrorWriteResult {
        throw PorticoError(.adapterUnavailable, "This adapter changes no \(change.entity) elsewhere.")
    }
    public func readMirror(_ entity: EntityName, _ id: RecordID) async throws -> MirrorRecord { .unavailable }
    public var serviceOperations: [any ServiceOperations] { [] }
    public func frontPageEntries() async throws -> [FrontPageEntry] { [] }
    public func sampleRecords() throws -> [SampleRecords] { [] }
    public func stop() async {}
}

/// Everything that the host gives an adapter for its whole life.
public struct AdapterContext: Sendable {
    /// All of the adapter's own records, without row rules.
    public let records: any RecordStore
    /// The accounts of the host.
    public let accounts: any AccountLookup
    /// The adapter's log.
    public let log: Log
    /// The time of day.
    public let clock: any WallClock
    /// To those who listen to the adapter's feeds.
    public let live: any LiveSignals
    /// To people's devices.
    public let push: any PushSender
    /// The system of `adapters.{name}.upstream`; nil: none is configured, and the adapter is local.
    public let upstream: (any Upstream)?
    /// The systems that the adapter's options name, the one of `upstream` included.
    public let upstreams: [UpstreamName: any Upstream]
    /// Operations that all adapters together add to services. Always empty in a worker, which cannot reach other adapters' code: an
    /// adapter that offers what others add runs as a library.
    public let serviceOperations: [any ServiceOperations]
    /// The adapter's records as they are created.
    public let changeFeed: any ChangeFeed
    /// For what it makes and keeps for a while.
    public let scratch: any ScratchStorage
    /// Metrics of its work, for operators.
    public let metrics: AdapterMetrics
    /// The callers that may read an entity's records, as the configuration says at that moment, for work beside calls that shows records
    /// to people. In a worker as it declares itself.
    public let readers: @Sendable (EntityName) -> Access

    /// Creates an adapter context with these values.
    public init(
        records: any RecordStore, accounts: any AccountLookup, log: Log, clock: any WallClock,
        live: any LiveSignals = NoLiveSignals(), push: any PushSender = NoPushSender(),
        upstream: (any Upstream)? = nil, upstreams: [UpstreamName: any Upstream] = [:],
        serviceOperations: [any ServiceOperations] = [],
        changeFeed: any ChangeFeed = NoChangeFeed(), scratch: any ScratchStorage = NoScratchStorage(),
        metrics: AdapterMetrics = .discarding,
        readers: @escaping @Sendable (EntityName) -> Access = { _ in .login }
    ) {
        self.records = records
        self.accounts = accounts
        self.log = log
        self.clock = clock
        self.live = live
        self.push = push
        self.upstream = upstream
        self.upstreams = upstream.map { upstreams.merging([$0.name: $0]) { first, _ in first } } ?? upstreams
        self.serviceOperations = serviceOperations
        self.changeFeed = changeFeed
        self.scratch = scratch
        self.metrics = metrics
        self.readers = readers
    }
}

/// The time of day. Passed in, so that tests decide what time it is; never a cursor.
public protocol WallClock: Sendable {
    /// The current time.
    func now() -> WireDate
}

/// Something worth a line on the front page.
public struct FrontPageEntry: Sendable, Equatable {
    /// The name to show to people.
    public let title: String
    /// A path of the gateway; begins with `/`.
    public let path: String
    /// One sentence that says what is found there.
    public let summary: String

    /// Creates a front page entry with these values.
    public init(title: String, path: String, summary: String) {
        self.title = title
        self.path = path
        self.summary = summary
    }
}

/// Records of one entity.
public struct SampleRecords: Sendable {
    /// The entity that the records are of.
    public let entity: EntityName
    /// The fields of each record.
    public let records: [WireDictionary]

    /// Creates sample records with these values.
    public init(_ entity: EntityName, _ records: [WireDictionary]) {
        self.entity = entity
        self.records = records
    }
}

/// The accounts of the host, for adapters whose records name people. Nothing secret is in it, and nothing can be changed.
///
/// All throw ``PorticoError`` where the host cannot tell. Implementations are safe to use from any task.
public protocol AccountLookup: Sendable {
    /// The account that may sign in by this name, case aside; nil where there is none.
    func account(named name: String) async throws -> AccountSummary?

    /// Accounts that may sign in, by name, at most `limit`; those after the name `after` where one is given.
    func accounts(after name: String?, limit: Int) async throws -> [AccountSummary]

    /// Whether the session (``Call/session``) is the account's and has not ended: what it has left behind, such as a device
    /// to push to, ends with it. `account` is an ``AccountSummary/id``.
    func hasSession(_ session: String, of account: String) async throws -> Bool
}

extension AccountLookup {
    /// No session: the host has none.
    public func hasSession(_ session: String, of account: String) async throws -> Bool { false }
}

/// Whom an adapter's users can be shown.
public struct AccountSummary: Sendable, Equatable {
    /// Stays the same when the account is renamed.
    public let id: String
    /// As records name it (``Principal/name``).
    public let name: String
    /// The name to show to people.
    public let displayName: String
    /// The roles of the account as they are now, for work in its name beside its calls.
    public let roles: Set<RoleName>
    /// Grows with every new password, when the account is signed out everywhere, and when it is disabled or enabled: what an
    /// earlier sign-in has left behind, such as a device to push to, is not the account's any more.
    public let credentialVersion: Int64

    /// Creates an account summary with these values.
    public init(
        id: String, name: String, displayName: String, roles: Set<RoleName> = [], credentialVersion: Int64 = 0
    ) {
        self.id = id
        self.name = name
        self.displayName = displayName
        self.roles = roles
        self.credentialVersion = credentialVersion
    }
}

/// Files for what an adapter makes and keeps for a while. None outlives the process.
public protocol ScratchStorage: Sendable {
    /// An empty file that no other user of the machine can read. Throws `store.full` and `store.unavailable`.
    func create() throws -> any ScratchFile
}

/// One file of a ``ScratchStorage``. It is removed when the last reference to it goes.
public protocol ScratchFile: AnyObject, Sendable {
    /// One caller at a time. Throws `store.full` and `store.unavailable`.
    func append(_ bytes: [UInt8]) throws

    /// Everything that was appended, piece by piece. The pieces stay readable after the file is removed.
    func contents() throws -> any ByteStream
}

/// For hosts that give adapters no files.
public struct NoScratchStorage: ScratchStorage {
    /// Creates the value; it has no state.
    public init() {}

    public func create() throws -> any ScratchFile {
        throw PorticoError(.adapterUnavailable, "This host gives adapters no files.")
    }
}
