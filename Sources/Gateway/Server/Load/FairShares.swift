/// How much is under way, for each caller and for each adapter, and who waits for a place: a state machine. Whoever
/// is refused is refused at once, since each queue is short.
struct FairShares {
    struct Place: Sendable {
        let caller: String
        let adapter: String
    }

    enum Verdict: Equatable {
        case taken
        case waits(UInt64)
        case refused
    }

    private struct Waiter {
        let number: UInt64
        let place: Place
    }

    let perCaller: Int
    let perAdapter: Int
    /// Who may wait, of one caller and for one adapter.
    let queues: (ofCaller: Int, forAdapter: Int)
    private var callers: [String: Int] = [:]
    private var adapters: [String: Int] = [:]
    private var waiting: [Waiter] = []
    private var lastNumber: UInt64 = 0

    init(perCaller: Int, perAdapter: Int, queuePerCaller: Int = 0, queuePerAdapter: Int = 0) {
        self.perCaller = perCaller
        self.perAdapter = perAdapter
        queues = (queuePerCaller, queuePerAdapter)
    }

    mutating func take(_ place: Place) -> Verdict {
        // Most find room: each name is looked up once for that.
        let (ofItsCaller, ofItsAdapter) = count(place)
        if ofItsCaller <= perCaller, ofItsAdapter <= perAdapter { return .taken }
        uncount(place)
        let ofCaller = waiting.count { $0.place.caller == place.caller }
        let forAdapter = waiting.count { $0.place.adapter == place.adapter }
        guard ofCaller < queues.ofCaller, forAdapter < queues.forAdapter else { return .refused }
        lastNumber += 1
        waiting.append(Waiter(number: lastNumber, place: place))
        return .waits(lastNumber)
    }

    /// Who has got a place now. Of those who could, the caller with the least under way is first, so that a long queue
    /// of one does not hold up the others.
    mutating func leave(_ place: Place) -> [UInt64] {
        uncount(place)
        guard !waiting.isEmpty else { return [] }
        var admitted: [UInt64] = []
        while let next = nextWaiter() {
            let waiter = waiting.remove(at: next)
            count(waiter.place)
            admitted.append(waiter.number)
        }
        return admitted
    }

    /// Whether it was still waiting; otherwise it has its place and has to leave it.
    mutating func giveUp(_ number: UInt64) -> Bool {
        guard let place = waiting.firstIndex(where: { $0.number == number }) else { return false }
        waiting.remove(at: place)
        return true
    }

    private func nextWaiter() -> Int? {
        waiting.indices.filter { hasRoom(waiting[$0].place) }.min { left, right in
            callers[waiting[left].place.caller, default: 0] < callers[waiting[right].place.caller, default: 0]
        }
    }

    private func hasRoom(_ place: Place) -> Bool {
        callers[place.caller, default: 0] < perCaller && adapters[place.adapter, default: 0] < perAdapter
    }

    /// How much is under way with it.
    @discardableResult
    private mutating func count(_ place: Place) -> (ofCaller: Int, ofAdapter: Int) {
        (Self.raise(&callers, place.caller), Self.raise(&adapters, place.adapter))
    }

    private mutating func uncount(_ place: Place) {
        Self.lower(&callers, place.caller)
        Self.lower(&adapters, place.adapter)
    }

    private static func raise(_ counts: inout [String: Int], _ name: String) -> Int {
        { (count: inout Int) in
            count += 1
            return count
        }(&counts[name, default: 0])
    }

    /// Whoever has nothing under way is forgotten.
    private static func lower(_ counts: inout [String: Int], _ name: String) {
        guard let place = counts.index(forKey: name) else { return }
        if counts.values[place] > 1 { counts.values[place] -= 1 } else { counts.remove(at: place) }
    }
}
