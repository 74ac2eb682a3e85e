import AdapterKit
import Dispatch
import MirrorEngine
import RecordStorage
import SyncEngine
import Synchronization

/// An adapter, with what the gateway needs to serve it once it runs.
public final class ServedAdapter: Sendable {
    public let declaration: AdapterDeclaration
    public var adapter: any Adapter { instance.current }
    let instance: AdapterInstance
    /// The same, in which every entity says who may write it.
    let deciding: AdapterDeclaration
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
    /// What it counts and measures of itself.
    let metrics: AdapterMetricValues

    /// `declaration`: with what the configuration says of its rights
    /// (``AdapterDeclaration/granting(_:entities:)``). `mirroring`: needed where the declaration has mirrors, or operations that other systems answer.
    public init(
        declaration: AdapterDeclaration, adapter: any Adapter, limits: AdapterLimits = AdapterLimits(),
        mirroring: MirrorSetup? = nil, log: Log
    ) {
        let instance = AdapterInstance(adapter)
        let declaration = declaration.askingRules { instance.current }
        self.declaration = declaration
        deciding = declaration.decidingWriters
        self.instance = instance
        self.log = log
        status = AdapterStatus(limits: limits)
        writes = mirroring?.writes(of: declaration, adapter: instance, status: status, log: log) ?? []
        mirrors =
            mirroring?.mirrors(of: declaration, adapter: instance, writes: writes, status: status, log: log) ?? []
        callsThrough = mirroring?.callsThrough(of: declaration, log: log) ?? []
        callerMirrors =
            mirroring?.callerMirrors(of: declaration, adapter: instance, status: status, log: log) ?? []
        thread = AdapterThread(label: "adapter.\(declaration.name)")
        metrics = AdapterMetricValues()
    }

    /// The same adapter, which goes on as it is, described and protected otherwise. What of the declaration has a life of
    /// its own, ``AdapterDeclaration/hasSameParts(as:)``, must be the same.
    public init(_ old: ServedAdapter, declaration: AdapterDeclaration) {
        let instance = old.instance
        self.declaration = declaration.askingRules { instance.current }
        deciding = self.declaration.decidingWriters
        (self.instance, log, mirrors, callsThrough) = (old.instance, old.log, old.mirrors, old.callsThrough)
        callerMirrors = old.callerMirrors
        (writes, status, thread, metrics) = (old.writes, old.status, old.thread, old.metrics)
    }

    /// Takes the place of an adapter of the same name that is declared otherwise: what operators refused stays refused, and
    /// its counters go on.
    public func succeed(_ old: ServedAdapter) {
        metrics.succeed(old.metrics)
        if old.status.current.isDisabled { status.change { $0.disable() } }
    }

    /// Whether both are the same adapter, whose instances, mirrors and streams go on.
    public func isSame(as other: ServedAdapter) -> Bool { instance === other.instance }

    /// The mirrors go by what this declaration says of them.
    public func useMirrorSettings() {
        for mirror in mirrors {
            guard let declared = declaration.mirrors.first(where: { $0.entity == mirror.source.entity }) else {
                continue
            }
            mirror.change(to: declared.settings)
        }
    }

    /// All of the adapter's records, on its own authority.
    public func ownRecords(in store: any Store) -> any RecordStore {
        AdapterRecords(store: store, declaration: declaration)
    }

    /// One attempt, for ``AdapterSupervisor``: of the current instance, or of one that may take its place.
    public func start(
        _ replacement: (any Adapter)? = nil, in store: any Store, accounts: any AccountLookup, clock: any WallClock,
        live: any LiveSignals,
        push: any PushSender, upstreams: AdapterUpstreams, serviceOperations: [any ServiceOperations],
        scratch: any ScratchStorage
    ) async throws {
        let context = AdapterContext(
            records: OwnRecords(records: ownRecords(in: store)), accounts: accounts, log: log, clock: clock, live: live,
            push: push, upstream: upstreams.own, upstreams: upstreams.all, serviceOperations: serviceOperations,
            changeFeed: StoreChanges(store: store, adapter: declaration.name), scratch: scratch,
            metrics: metrics.metrics(log))
        try await instance.start(replacement, context)
    }
}

/// The instance of an adapter that is called now. Another configuration makes another instance.
final class AdapterInstance: Sendable {
    private struct State {
        var adapter: any Adapter
        var number = 0
        /// It has taken the place of one that had not started, and has not started itself.
        var isPending = false
    }

    private let state: Mutex<State>

    init(_ adapter: any Adapter) {
        state = Mutex(State(adapter: adapter))
    }

    var current: any Adapter { state.withLock { $0.adapter } }

    /// Whether a start that has succeeded was another instance's.
    var isPending: Bool { state.withLock { $0.isPending } }

    /// Starts the current instance, or one that may take its place.
    func start(_ replacement: (any Adapter)?, _ context: AdapterContext) async throws {
        if let replacement { return try await replacement.start(context) }
        let (adapter, number) = state.withLock { ($0.adapter, $0.number) }
        try await adapter.start(context)
        let isCurrent = state.withLock { state in
            if state.number == number { state.isPending = false }
            return state.number == number
        }
        if !isCurrent { await adapter.stop() }
    }

    /// Reads by the current instance. Where that fails and another instance has taken its place meanwhile, by that one.
    func read<Result>(_ body: (any Adapter) async throws -> Result) async throws -> Result {
        let (adapter, number) = state.withLock { ($0.adapter, $0.number) }
        do { return try await body(adapter) } catch {
            let (other, otherNumber) = state.withLock { ($0.adapter, $0.number) }
            guard otherNumber != number, !Task.isCancelled else { throw error }
            return try await body(other)
        }
    }

    /// Returns the instance before.
    func replace(with adapter: any Adapter, isStarted: Bool) -> any Adapter {
        state.withLock { state in
            defer {
                state.number += 1
                (state.adapter, state.isPending) = (adapter, !isStarted)
            }
            return state.adapter
        }
    }
}

extension AdapterDeclaration {
    /// Whether tables, mirrors, live feeds and calls of other systems are the same in both: what goes on while requests
    /// come and go.
    public func hasSameParts(as other: AdapterDeclaration) -> Bool {
        func lasting(_ declaration: AdapterDeclaration) -> [Operation] {
            declaration.operations.filter { $0.callThrough != nil }
        }
        return name == other.name && Self.alike(entities, other.entities) { $0.isStored(as: $1) }
            && Self.alike(mirrors, other.mirrors) { $0.isFetched(as: $1) }
            && liveFeeds == other.liveFeeds && lasting(self) == lasting(other)
    }

    private static func alike<Part>(_ parts: [Part], _ others: [Part], by isAlike: (Part, Part) -> Bool) -> Bool {
        parts.count == others.count && zip(parts, others).allSatisfy(isAlike)
    }
}

extension Entity {
    /// Whether its records are the same in both. Who may read and write them is decided with every request.
    fileprivate func isStored(as other: Entity) -> Bool {
        name == other.name && key == other.key && fields == other.fields && indexes == other.indexes
            && searchFields == other.searchFields && attachments == other.attachments
            && historyFields == other.historyFields && parents == other.parents
            && conflictPolicy == other.conflictPolicy
    }
}

extension MirrorSource {
    /// Whether the same rows are fetched and changed in the same way. When, and how old they may be, changes while the
    /// mirror goes on (``Mirror/change(to:)``), but not for rows that belong to single callers.
    fileprivate func isFetched(as other: MirrorSource) -> Bool {
        entity == other.entity && reading == other.reading && writing == other.writing
            && honoursIdempotencyKeys == other.honoursIdempotencyKeys && upstream == other.upstream
            && supportsRowsOfCallers == other.supportsRowsOfCallers && callerKey == other.callerKey
            && (callerKey == nil || settings == other.settings)
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
