import AdapterKit

/// Which reads have one of a few places and which wait, in fair shares among callers: a state machine.
///
/// A caller has all places but one at most, so that there is one for others. Of those that wait, the caller with the
/// fewest places is next, then the one that got its last place longest ago, then the one that came first. Where the queue
/// is full, the caller with the most reads in it gives one up. A read whose turn is over ends where a caller without a
/// place waits.
struct ReadShares {
    struct Limits {
        let places: Int
        /// Reads that wait, of all callers together.
        var waiting = 64
        /// How many places a caller keeps although another has none.
        var kept = 0

        var placesPerCaller: Int { max(1, places - 1) }
        /// Half, so that one caller alone never fills the queue.
        var waitingPerCaller: Int { max(1, waiting / 2) }
    }

    enum Admission: Equatable {
        case admitted(UInt64)
        /// `evicting`: another read gives its place in the queue up.
        case waits(UInt64, evicting: UInt64?)
        case refused
    }

    private let limits: Limits
    private var running: [UInt64: CallerIdentity] = [:]
    private var waiting: [(number: UInt64, caller: CallerIdentity)] = []
    /// Those whose turn was ended, and which have not left yet.
    private var ending: Set<UInt64> = []
    private var lastNumber: UInt64 = 0
    /// When those that have or want a place got their last one, in admissions.
    private var served: [CallerIdentity: UInt64] = [:]
    private var admissions: UInt64 = 0

    init(_ limits: Limits) {
        self.limits = limits
    }

    mutating func enter(_ caller: CallerIdentity) -> Admission {
        if running.count < limits.places, places(of: caller) < limits.placesPerCaller {
            let number = nextNumber()
            admit(number, caller)
            return .admitted(number)
        }
        let own = waiting.count { $0.caller == caller }
        guard own < limits.waitingPerCaller else { return .refused }
        var evicted: UInt64?
        if waiting.count >= limits.waiting {
            guard let longest = longestQueue(), longest.count > own + 1,
                let last = waiting.lastIndex(where: { $0.caller == longest.caller })
            else { return .refused }
            evicted = waiting.remove(at: last).number
        }
        let number = nextNumber()
        waiting.append((number, caller))
        return .waits(number, evicting: evicted)
    }

    /// Returns those that have a place now.
    mutating func leave(_ number: UInt64) -> [UInt64] {
        guard running[number] != nil else { return [] }
        running[number] = nil
        ending.remove(number)
        var admitted: [UInt64] = []
        while running.count < limits.places, let next = nextWaiting() {
            let read = waiting.remove(at: next)
            admit(read.number, read.caller)
            admitted.append(read.number)
        }
        let known = Set(running.values).union(waiting.map(\.caller))
        served = served.filter { known.contains($0.key) }
        return admitted
    }

    /// Whether it was still waiting; otherwise it has a place and has to leave it.
    mutating func giveUp(_ number: UInt64) -> Bool {
        guard let position = waiting.firstIndex(where: { $0.number == number }) else { return false }
        waiting.remove(at: position)
        return true
    }

    /// Of a read that has had its time: whether it is to end because a caller without a place waits. As many reads end as
    /// there are such callers.
    mutating func endsTurn(of number: UInt64) -> Bool {
        guard let caller = running[number] else { return false }
        if ending.contains(number) { return true }
        let others = Set(waiting.lazy.map(\.caller)).filter { $0 != caller && places(of: $0) == 0 }
        let staying = running.count { $0.value == caller && !ending.contains($0.key) }
        guard ending.count < others.count, staying > limits.kept else { return false }
        ending.insert(number)
        return true
    }

    /// Nobody waits: the usual case, to be asked first.
    var isQueueEmpty: Bool { waiting.isEmpty }

    private mutating func admit(_ number: UInt64, _ caller: CallerIdentity) {
        running[number] = caller
        admissions += 1
        served[caller] = admissions
    }

    private mutating func nextNumber() -> UInt64 {
        lastNumber += 1
        return lastNumber
    }

    private func places(of caller: CallerIdentity) -> Int { running.count { $0.value == caller } }

    private func nextWaiting() -> Int? {
        waiting.indices.filter { places(of: waiting[$0].caller) < limits.placesPerCaller }
            .min { standing(of: waiting[$0].caller) < standing(of: waiting[$1].caller) }
    }

    private func standing(of caller: CallerIdentity) -> (places: Int, served: UInt64) {
        (places(of: caller), served[caller] ?? 0)
    }

    private func longestQueue() -> (caller: CallerIdentity, count: Int)? {
        Dictionary(grouping: waiting, by: \.caller).map { ($0.key, $0.value.count) }.max { $0.1 < $1.1 }
    }
}
