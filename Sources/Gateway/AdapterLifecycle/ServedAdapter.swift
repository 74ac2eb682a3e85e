import AdapterKit
import Dispatch
import MirrorEngine
import RecordStorage
import SyncEngine
import Synchronization

/// One generation of an adapter, with what the gateway needs to serve it once it runs. Whatever changes of an adapter (an option,
/// its declaration, its program), another generation takes its place (``AdapterChange``).
public final class ServedAdapter: Sendable {
    public let declaration: AdapterDeclaration
    public let adapter: any Adapter
    /// The same, in which every entity says who may write it.
    let deciding: AdapterDeclaration
    public let log: Log
    let slot: AdapterSlot
    let parts: AdapterParts
    let status: AdapterStatus
    let thread: AdapterThread
    /// Whether it stands for an adapter whose program is absent: it is attempted again and again, and needs not run to be served.
    let isPlaceholder: Bool

    /// `declaration`: with what the configuration says of its rights
    /// (``AdapterDeclaration/granting(_:entities:)``). `mirroring`: needed where the declaration has mirrors, or operations that
    /// other systems answer, and `old` does not have the same. `old`: the generation whose place it may take.
    public init(
        declaration: AdapterDeclaration, adapter: any Adapter, limits: AdapterLimits = AdapterLimits(),
        mirroring: MirrorSetup? = nil, succeeding old: ServedAdapter? = nil, isPlaceholder: Bool = false, log: Log
    ) {
        slot = old?.slot ?? AdapterSlot()
        status = AdapterStatus(limits: limits, slot: slot)
        let known = old.flatMap { $0.declaration.hasSameParts(as: declaration) ? $0.parts : nil }
        let answering = known?.answering ?? AnsweringGeneration(adapter, status)
        self.declaration = declaration.askingRules { answering.current }
        parts = known ?? AdapterParts(of: self.declaration, answering, mirroring, slot: slot, log: log)
        deciding = self.declaration.decidingWriters
        (self.adapter, self.isPlaceholder, self.log) = (adapter, isPlaceholder, log)
        thread = AdapterThread(label: "adapter.\(declaration.name)")
        if old == nil { slot.parts = parts }
    }

    /// Whether mirrors, streams and what is still to be sent of one go on with the other.
    public func hasParts(of other: ServedAdapter) -> Bool { parts === other.parts }

    /// What outlives generations goes by this one from now on.
    func takePlace() {
        parts.answering.replace(with: adapter, status)
        slot.parts = parts
        for mirror in parts.mirrors {
            guard let declared = declaration.mirrors.first(where: { $0.entity == mirror.source.entity }) else {
                continue
            }
            mirror.change(to: declared.settings)
        }
    }

    /// What it adds to services of other adapters: whichever generation answers performs it.
    public var serviceOperations: [any ServiceOperations] {
        adapter.serviceOperations.enumerated().map {
            AnsweringServiceOperations(position: $0.offset, names: $0.element.names, slot: slot)
        }
    }

    /// What it counts and measures of itself.
    var metrics: AdapterMetricValues { slot.metrics }

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
                records: OwnRecords(records: ownRecords(in: store)), accounts: accounts, log: log, clock: clock,
                live: live, push: push, upstream: upstreams.own, upstreams: upstreams.all,
                serviceOperations: serviceOperations,
                changeFeed: StoreChanges(store: store, adapter: declaration.name), scratch: scratch,
                metrics: metrics.metrics(log, of: ObjectIdentifier(self)),
                readers: { [declaration] in declaration.readers(of: $0) }))
    }
}

/// The place of one adapter, which its generations take one after the other: what outlives each of them.
public final class AdapterSlot: Sendable {
    private struct State {
        /// Of the generation that answers now.
        weak var parts: AdapterParts?
        var protections: [CollectionID: RefreshProtection] = [:]
    }

    /// What the adapter counts and measures of itself.
    let metrics = AdapterMetricValues()
    private let refusesCalls = Atomic<Bool>(false)
    private let state = Mutex(State())

    init() {}

    /// An operator has its calls refused, whether it runs or not.
    var isDisabled: Bool {
        get { refusesCalls.load(ordering: .acquiring) }
        set { refusesCalls.store(newValue, ordering: .releasing) }
    }

    /// What outlives the generation that answers now, and asks it.
    var parts: AdapterParts? {
        get { state.withLock { $0.parts } }
        set { state.withLock { $0.parts = newValue } }
    }

    /// What a refresh of these records leaves as it is, whichever generation writes and whichever refreshes.
    func protection(of id: CollectionID) -> RefreshProtection {
        state.withLock { state in
            let protection = state.protections[id] ?? RefreshProtection(of: id)
            state.protections[id] = protection
            return protection
        }
    }
}

/// What goes on from one generation to the next where both store, mirror and stream the same: mirrors, changes that are still to
/// be sent, kept answers and live feeds. They ask the generation that answers now.
final class AdapterParts: Sendable {
    let answering: AnsweringGeneration
    /// Of its entities whose truth is in another system.
    let mirrors: [Mirror]
    /// Those whose rows belong to single callers.
    let callerMirrors: [AdapterCallerMirror]
    /// Of its operations that other systems answer.
    let callsThrough: [AdapterCallThrough]
    /// What callers change of them.
    let writes: [MirrorWrites]

    /// `mirroring`: needed where the declaration has mirrors, or operations that other systems answer.
    init(
        of declaration: AdapterDeclaration, _ answering: AnsweringGeneration, _ mirroring: MirrorSetup?,
        slot: AdapterSlot, log: Log
    ) {
        self.answering = answering
        writes = mirroring?.writes(of: declaration, adapter: answering, slot: slot, log: log) ?? []
        mirrors = mirroring?.mirrors(of: declaration, adapter: answering, writes: writes, log: log) ?? []
        callsThrough = mirroring?.callsThrough(of: declaration, log: log) ?? []
        callerMirrors = mirroring?.callerMirrors(of: declaration, adapter: answering, log: log) ?? []
    }
}

/// The generation that answers what outlives generations.
final class AnsweringGeneration: Sendable {
    private struct State {
        let adapter: any Adapter
        let status: AdapterStatus

        /// Throws `adapter.unavailable` unless it runs.
        var running: any Adapter {
            get throws {
                try status.requireRunning()
                return adapter
            }
        }
    }

    private let state: Mutex<State>

    init(_ adapter: any Adapter, _ status: AdapterStatus) {
        state = Mutex(State(adapter: adapter, status: status))
    }

    private var now: State { state.withLock { $0 } }

    var current: any Adapter { now.adapter }

    /// Throws `adapter.unavailable` unless it runs.
    var running: any Adapter { get throws { try now.running } }

    func replace(with adapter: any Adapter, _ status: AdapterStatus) {
        state.withLock { $0 = State(adapter: adapter, status: status) }
    }

    /// Reads by the one that answers. Where that fails and another one has taken its place meanwhile, by that one.
    func read<Result>(_ body: (any Adapter) async throws -> Result) async throws -> Result {
        let asked = now
        do { return try await body(try asked.running) } catch {
            let now = now
            guard now.status !== asked.status, !Task.isCancelled else { throw error }
            return try await body(try now.running)
        }
    }
}

/// What an adapter adds to services of others, performed by the generation that answers.
private struct AnsweringServiceOperations: ServiceOperations {
    let position: Int
    let names: Set<String>
    let slot: AdapterSlot

    func perform(_ call: ServiceCall) async throws -> ServiceResult {
        guard let all = slot.parts?.answering.current.serviceOperations, all.indices.contains(position) else {
            throw PorticoError(.adapterUnavailable, "The adapter does not answer this operation.")
        }
        return try await all[position].perform(call)
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
            && changes == other.changes
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
