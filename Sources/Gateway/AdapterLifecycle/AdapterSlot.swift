import AdapterKit
import MirrorEngine
import RecordStorage
import Synchronization

/// The place of one adapter, which its generations take one after the other: what outlives each of them.
public final class AdapterSlot: Sendable {
    private struct State {
        weak var answering: ServedAdapter?
        /// Those that are refreshed now.
        var mirrors: [CollectionID: Mirror] = [:]
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

    func mirror(_ id: CollectionID) -> Mirror? { state.withLock { $0.mirrors[id] } }

    /// The generation that answers now.
    var answering: ServedAdapter? { state.withLock { $0.answering } }

    func use(_ served: ServedAdapter) {
        state.withLock { state in
            state.answering = served
            state.mirrors = Dictionary(served.parts.mirrors.map { ($0.id, $0) }, uniquingKeysWith: { $1 })
        }
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

/// The turn to work beside its calls, which the generations of one name have one after the other. It outlives the adapter: one that is
/// removed and added again may find the work of the generation before.
///
/// `Adapter.activate` is called under a lock that nothing else takes, so that no work is ended before it has begun.
final class AdapterTurn: Sendable {
    private let turn = Mutex(WorkTurn<ServedAdapter>())

    /// What a generation that runs does beside its calls begins: now, or when that of the one before has ended.
    func activate(_ served: ServedAdapter) {
        turn.withLock { turn in
            guard served.status.change({ $0.activate() }), turn.asks(served) else { return }
            served.adapter.activate()
        }
    }

    /// Whether a generation has work beside its calls that is to be ended. It begins none any more.
    func drain(_ served: ServedAdapter) -> Bool {
        turn.withLock { turn in
            served.status.change { $0.drain() }
            return turn.leaves(served)
        }
    }

    /// What a generation did beside its calls has ended.
    func workEnded(of served: ServedAdapter) { turn.withLock { $0.ended(served)?.adapter.activate() } }
}

/// Whose turn it is to work beside its calls: one generation's at a time.
struct WorkTurn<Generation: AnyObject> {
    private(set) var working: Generation?
    private(set) var waiting: Generation?
    private var isEnding = false

    /// Whether its turn begins; otherwise it does when the one that works has ended.
    mutating func asks(_ generation: Generation) -> Bool {
        guard working == nil else {
            waiting = generation
            return false
        }
        working = generation
        return true
    }

    /// Whether it works, and has to end that, which is said once. It waits no more.
    mutating func leaves(_ generation: Generation) -> Bool {
        if waiting === generation { waiting = nil }
        guard working === generation, !isEnding else { return false }
        isEnding = true
        return true
    }

    /// Whose turn begins. Nothing where another one works.
    mutating func ended(_ generation: Generation) -> Generation? {
        guard working === generation else { return nil }
        (working, waiting, isEnding) = (waiting, nil, false)
        return working
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
