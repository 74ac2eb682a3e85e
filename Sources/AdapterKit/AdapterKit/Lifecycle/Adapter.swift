/// A running adapter. The host starts it, calls it from any number of tasks at once, and stops it.
public protocol Adapter: Sendable {
    /// Called before any call; the tables are there. It may block its thread.
    ///
    /// Where it throws, the adapter does not serve, the host says why, and calls it again later. Where it takes longer
    /// than `limits.adapterStart`, its task is cancelled. It is never called twice at once, and not after it succeeded.
    func start(_ context: AdapterContext) async throws

    /// Answers a call of a declared operation. Throws ``PorticoError`` for what the caller should learn; any other
    /// error is logged and told as `server.internal`.
    func handle(_ call: Call) async throws -> OperationResult

    /// Answers a request at a declared door. Throws as ``handle(_:)`` does.
    func answer(_ request: MountRequest) async throws -> MountResponse

    /// A failure in the shape of the door's contract, whoever raised it: the gateway asks for its own failures too. The
    /// status goes by the error's code unless the answer has one of its own. Nil: the gateway's own shape. Called before
    /// ``start(_:)`` has succeeded too, to say that the adapter is not available.
    func present(_ error: PorticoError, status: Int, to request: MountFailure) -> MountResponse?

    /// Settles a conflict of an entity whose policy is ``ConflictPolicy/adapterDecides``. Called before anything is
    /// written, and again where the record changes meanwhile, so it changes nothing itself and answers the same for the
    /// same conflict.
    ///
    /// Throws ``PorticoError``: what passes (`upstream.failed`, `upstream.timeout`, `adapter.unavailable`,
    /// `server.overloaded`) has the device send the change again later, anything else rejects it.
    func settle(_ conflict: RecordConflict) async throws -> ConflictDecision

    /// What it adds to services of other adapters.
    var serviceOperations: [any ServiceOperations] { get }

    /// What a person finds on the front page. Shown to everybody, so it names nothing that needs a login to know.
    func listings() async throws -> [Listing]

    /// Records to show the adapter with, for a store that has none.
    func sampleRecords() throws -> [SampleRecords]

    /// Called once, after the last call has ended, where the start had succeeded. One that takes longer than
    /// `limits.adapterStop` is cancelled and left behind.
    func stop() async
}

extension Adapter {
    public func start(_ context: AdapterContext) async throws {}
    public func answer(_ request: MountRequest) async throws -> MountResponse {
        throw PorticoError(.routeNotFound, "There is nothing at this path.")
    }
    public func present(_ error: PorticoError, status: Int, to request: MountFailure) -> MountResponse? { nil }

    public func settle(_ conflict: RecordConflict) async throws -> ConflictDecision { .keep }
    public var serviceOperations: [any ServiceOperations] { [] }
    public func listings() async throws -> [Listing] { [] }
    public func sampleRecords() throws -> [SampleRecords] { [] }
    public func stop() async {}
}

/// What the host gives an adapter for its whole life.
public struct AdapterContext: Sendable {
    /// All of the adapter's own records, without row rules.
    public let records: any RecordStore
    public let accounts: any AccountList
    public let log: Log
    public let clock: any WallClock
    /// To those who listen to the adapter's feeds.
    public let live: any LiveSignals
    /// To people's devices.
    public let push: any PushSender
    /// The portal of `adapters.{name}.portal`; nil: none is configured, and the adapter has no such upstream.
    public let portal: (any CallerUpstream)?
    /// What all adapters together add to services.
    public let serviceOperations: [any ServiceOperations]
    public let changes: any RecordChanges
    /// For what it makes and keeps for a while.
    public let scratch: any ScratchStorage

    public init(
        records: any RecordStore, accounts: any AccountList, log: Log, clock: any WallClock,
        live: any LiveSignals = NoLiveSignals(), push: any PushSender = NoPushSender(),
        portal: (any CallerUpstream)? = nil, serviceOperations: [any ServiceOperations] = [],
        changes: any RecordChanges = NoRecordChanges(), scratch: any ScratchStorage = NoScratchStorage()
    ) {
        self.records = records
        self.accounts = accounts
        self.log = log
        self.clock = clock
        self.live = live
        self.push = push
        self.portal = portal
        self.serviceOperations = serviceOperations
        self.changes = changes
        self.scratch = scratch
    }
}

/// The time of day. Passed in, so that tests decide what time it is; never a cursor.
public protocol WallClock: Sendable {
    func now() -> WireDate
}

/// Something worth a line on the front page.
public struct Listing: Sendable, Equatable {
    public let title: String
    public let path: String
    public let summary: String

    public init(title: String, path: String, summary: String) {
        self.title = title
        self.path = path
        self.summary = summary
    }
}

/// Records of one entity.
public struct SampleRecords: Sendable {
    public let entity: EntityName
    public let records: [WireDictionary]

    public init(_ entity: EntityName, _ records: [WireDictionary]) {
        self.entity = entity
        self.records = records
    }
}
