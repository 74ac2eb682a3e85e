import SyncSimulator

/// What the command line says.
struct Arguments {
    var seeds = 100
    var operations = 200
    /// The first of the seeds; alone, its run is printed.
    var seed: UInt64?
    var sabotage: Sabotage?
    /// After so many seconds no further seed is begun, once the seeds asked for at least are done.
    var seconds: Double?
    var atLeast = 0
    /// In every how many-th seed one device has its data in a file.
    var filesEvery = 8

    static let usage = """
        usage: sync-simulator [--seeds N] [--operations N] [--seed S] [--sabotage NAME] [--seconds N] [--at-least N] \
        [--files-every N]
        --seed without --seeds prints what happens; sabotages: \
        \(Sabotage.allCases.map(\.rawValue).joined(separator: ", "))
        """

    var printsTrace: Bool { seed != nil && !namesSeeds }
    private var namesSeeds = false

    /// Nil for what is not understood.
    init?(_ words: ArraySlice<String>) {
        var rest = words
        while let name = rest.popFirst() {
            guard let value = rest.popFirst(), take(name, value) else { return nil }
        }
    }

    private mutating func take(_ name: String, _ value: String) -> Bool {
        switch name {
        case "--seeds":
            namesSeeds = true
            return set(\.seeds, Int(value))
        case "--operations": return set(\.operations, Int(value))
        case "--seed": return set(\.seed, UInt64(value).map(Optional.some))
        case "--sabotage": return set(\.sabotage, Sabotage(rawValue: value).map(Optional.some))
        case "--seconds": return set(\.seconds, Double(value).map(Optional.some))
        case "--files-every": return set(\.filesEvery, Int(value))
        case "--at-least": return set(\.atLeast, Int(value))
        default: return false
        }
    }

    private mutating func set<Value>(_ path: WritableKeyPath<Arguments, Value>, _ value: Value?) -> Bool {
        guard let value else { return false }
        self[keyPath: path] = value
        return true
    }
}
