import AdapterKit
import Dispatch
import MirrorEngine
import RecordStorage
import SyncEngine

/// An adapter, with what the gateway needs to serve it once it runs.
public final class ServedAdapter: Sendable {
    public let declaration: AdapterDeclaration
    public let adapter: any Adapter
    /// From the configuration, otherwise the declaration's.
    public let access: Access
    public let log: Log
    /// Of its entities whose truth is in another system.
    let mirrors: [Mirror]
    /// Those whose rows belong to single callers.
    let callerMirrors: [AdapterCallerMirror]
    /// Of its operations that other systems answer.
    let callsThrough: [AdapterCallThrough]
    /// What callers change of them.
    let writes: [MirrorWrites]
    let status: AdapterStatus
    let thread: AdapterThread

    /// `mirroring`: needed where the declaration has mirrors, or operations that other systems answer.
    public init(
        declaration: AdapterDeclaration, adapter: any Adapter, access: Access?, limits: AdapterLimits = AdapterLimits(),
        mirroring: MirrorSetup? = nil, log: Log
    ) {
        self.declaration = declaration
        self.adapter = adapter
        self.access = access ?? declaration.access
        self.log = log
        status = AdapterStatus(limits: limits)
        writes = mirroring?.writes(of: declaration, adapter: adapter, status: status, log: log) ?? []
        mirrors =
            mirroring?.mirrors(of: declaration, adapter: adapter, writes: writes, status: status, log: log) ?? []
        callsThrough = mirroring?.callsThrough(of: declaration, log: log) ?? []
        callerMirrors =
            mirroring?.callerMirrors(of: declaration, adapter: adapter, status: status, log: log) ?? []
        thread = AdapterThread(label: "adapter.\(declaration.name)")
    }

    /// All of the adapter's records, on its own authority.
    public func ownRecords(in store: any Store) -> any RecordStore {
        AdapterRecords(store: store, declaration: declaration)
    }

    /// One attempt, for ``AdapterSupervisor``.
    public func start(
        in store: any Store, accounts: any AccountLookup, clock: any WallClock, live: any LiveSignals,
        push: any PushSender, upstreams: AdapterUpstreams, serviceOperations: [any ServiceOperations],
        scratch: any ScratchStorage
    ) async throws {
        try await adapter.start(
            AdapterContext(
                records: ownRecords(in: store), accounts: accounts, log: log, clock: clock, live: live, push: push,
                upstream: upstreams.own, upstreams: upstreams.all, serviceOperations: serviceOperations,
                changeFeed: StoreChanges(store: store, adapter: declaration.name), scratch: scratch))
    }
}

/// The systems that an adapter's configuration names.
public struct AdapterUpstreams: Sendable {
    /// The one of `adapters.{name}.upstream`.
    public var own: (any Upstream)?
    public var all: [UpstreamName: any Upstream]

    public init(own: (any Upstream)? = nil, all: [UpstreamName: any Upstream] = [:]) {
        self.own = own
        self.all = all
    }
}

/// A thread for one adapter's start and stop: one that blocks there delays no other adapter.
///
/// Kept for as long as the adapter: the runtime does not retain the executors that tasks prefer.
final class AdapterThread: TaskExecutor {
    private let queue: DispatchQueue

    init(label: String) {
        queue = DispatchQueue(label: label)
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
