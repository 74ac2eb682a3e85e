/// How much is under way, for each caller and for each adapter.
struct Shares {
    struct Place: Sendable {
        let caller: String
        let adapter: String
    }

    let perCaller: Int
    let perAdapter: Int
    private var callers: [String: Int] = [:]
    private var adapters: [String: Int] = [:]

    init(perCaller: Int, perAdapter: Int) {
        self.perCaller = perCaller
        self.perAdapter = perAdapter
    }

    mutating func take(_ place: Place) -> Bool {
        guard callers[place.caller, default: 0] < perCaller, adapters[place.adapter, default: 0] < perAdapter else {
            return false
        }
        callers[place.caller, default: 0] += 1
        adapters[place.adapter, default: 0] += 1
        return true
    }

    /// Whoever has nothing under way is forgotten.
    mutating func leave(_ place: Place) {
        Self.lower(&callers, place.caller)
        Self.lower(&adapters, place.adapter)
    }

    private static func lower(_ counts: inout [String: Int], _ name: String) {
        let count = (counts[name] ?? 1) - 1
        counts[name] = count > 0 ? count : nil
    }
}
