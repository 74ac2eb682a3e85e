import AdapterKit

/// The way from some generations of adapters to others, whatever has caused it. A pure state machine; ``AdapterSupervisor``
/// does what it asks for.
///
/// *Prepare*: what comes is started beside what answers. Where one does not start, all that was started is discarded, and
/// nothing has changed. *Exchange*: from now on what comes answers. It cannot fail. Then what goes is *drained*: what it does
/// beside its calls ends. After that what comes is *activated*: its own begins. Once the requests that were begun before are
/// over, what goes is *stopped*.
struct AdapterChangeMachine: Sendable {
    /// What is to be done. Each is followed by one event.
    enum Action: Sendable, Hashable {
        case start(AdapterName)
        /// Of one that was started and does not come.
        case discard(AdapterName)
        case drain(AdapterName)
        case activate(AdapterName)
        /// No request writes any more as the generations before declare: the store takes up what holds now.
        case settle
        case stop(AdapterName)
    }

    enum Event: Sendable, Equatable {
        case started(AdapterName)
        case failed(AdapterName, String)
        case discarded(AdapterName)
        /// Whether it has ended in time or goes on: that none begins before is seen to by ``AdapterTurn``.
        case drained(AdapterName)
        case activated(AdapterName)
        /// Requests that were begun before have had the time in which they may write.
        case overlapEnded
        case settled
        /// The requests that were begun before are over.
        case requestsEnded
        case stopped(AdapterName)
    }

    enum Phase: Sendable, Equatable {
        case preparing
        /// All that comes is started: it can be exchanged, or refused.
        case prepared
        /// What was started is being discarded, and why.
        case discarding(String)
        /// Nothing has changed, and why.
        case discarded(String)
        case exchanged
    }

    enum Old: Sendable { case answering, draining, drained, stopping, stopped }

    enum New: Sendable { case starting, started, discarding, discarded, answering, activating, active }

    private(set) var phase = Phase.preparing
    /// What goes.
    private(set) var old: [AdapterName: Old]
    /// What comes.
    private(set) var new: [AdapterName: New]
    private var isOverlapOver = false
    private var isSettling = false
    private(set) var isSettled = false
    private var areRequestsOver = false

    /// `old`: what goes. `new`: what comes; a name in both gives way to itself. `placeholders`: those of what comes that are
    /// exchanged without having been started.
    init(old: Set<AdapterName>, new: Set<AdapterName>, placeholders: Set<AdapterName> = []) {
        self.old = Dictionary(old.map { ($0, .answering) }, uniquingKeysWith: { $1 })
        self.new = Dictionary(
            new.map { ($0, placeholders.contains($0) ? .started : .starting) }, uniquingKeysWith: { $1 })
    }

    mutating func prepare() -> [Action] {
        let actions = names(new, in: .starting).map(Action.start)
        if actions.isEmpty { phase = .prepared }
        return actions
    }

    /// What was prepared is not wanted.
    mutating func refuse() -> [Action] { phase == .prepared ? discard("It is not wanted.") : [] }

    /// From now on what comes answers.
    mutating func exchange() -> [Action] {
        guard phase == .prepared else { return [] }
        phase = .exchanged
        for name in old.keys { old[name] = .draining }
        let added = new.keys.filter { old[$0] == nil }.sorted()
        for name in new.keys { new[name] = old[name] == nil ? .activating : .answering }
        return old.keys.sorted().map(Action.drain) + added.map(Action.activate)
    }

    mutating func handle(_ event: Event) -> [Action] {
        switch event {
        case .started(let name): return started(name)
        case .failed(let name, let reason):
            new[name] = .discarded
            return phase == .preparing ? discard(reason) : endDiscarding()
        case .discarded(let name):
            new[name] = .discarded
            return endDiscarding()
        case .drained(let name):
            old[name] = .drained
            let next = new[name] == nil ? [] : [Action.activate(name)]
            if !next.isEmpty { new[name] = .activating }
            return next + settle()
        case .activated(let name):
            new[name] = .active
            return settle()
        case .overlapEnded:
            isOverlapOver = true
            return settle()
        case .settled:
            isSettled = true
            return stop()
        case .requestsEnded:
            areRequestsOver = true
            return stop()
        case .stopped(let name):
            old[name] = .stopped
            return []
        }
    }

    private mutating func started(_ name: AdapterName) -> [Action] {
        guard phase == .preparing else {
            new[name] = .discarding
            return [.discard(name)]
        }
        new[name] = .started
        if !new.values.contains(.starting) { phase = .prepared }
        return []
    }

    private mutating func discard(_ reason: String) -> [Action] {
        phase = .discarding(reason)
        let started = names(new, in: .started)
        for name in started { new[name] = .discarding }
        return started.map(Action.discard) + endDiscarding()
    }

    private mutating func endDiscarding() -> [Action] {
        if case .discarding(let reason) = phase, new.values.allSatisfy({ $0 == .discarded }) {
            phase = .discarded(reason)
        }
        return []
    }

    private mutating func settle() -> [Action] {
        guard phase == .exchanged, isOverlapOver, !isSettling, !old.values.contains(.draining),
            new.values.allSatisfy({ $0 == .active })
        else { return [] }
        isSettling = true
        return [.settle]
    }

    private mutating func stop() -> [Action] {
        guard isSettled, areRequestsOver else { return [] }
        let going = old.filter { $0.value == .drained }.keys.sorted()
        for name in going { old[name] = .stopping }
        return going.map(Action.stop)
    }

    private func names(_ all: [AdapterName: New], in state: New) -> [AdapterName] {
        all.filter { $0.value == state }.keys.sorted()
    }
}
