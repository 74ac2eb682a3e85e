import Foundation

/// The command line of a simulator: runs seed after seed until one breaks a promise, or prints the run of one.
public struct SimulationDriver: Sendable {
    /// One run of the command line's.
    public struct Run: Sendable {
        public let seed: UInt64
        public let operations: Int
        /// One of the driver's sabotages; nil: none.
        public let sabotage: String?
        public let keepsTrace: Bool
        /// In every how many-th seed one device has its data in a file.
        public let filesEvery: Int
    }

    private let name: String
    private let sabotages: [String]
    private let run: @Sendable (Run) async throws -> SimulationReport

    /// `name`: of the program. `sabotages`: the names that `--sabotage` takes.
    public init(
        _ name: String, sabotages: [String], run: @escaping @Sendable (Run) async throws -> SimulationReport
    ) {
        self.name = name
        self.sabotages = sabotages
        self.run = run
    }

    /// The program's exit status: 0: no seed broke a promise; 1: one did, its seed is printed; 2: usage.
    public func status(_ words: [String]) async throws -> Int32 {
        guard let arguments = DriverArguments(words[...]), arguments.sabotage.map(sabotages.contains) ?? true else {
            FileHandle.standardError.write(Data((usage + "\n").utf8))
            return 2
        }
        return arguments.printsTrace ? try await show(arguments) : try await search(arguments)
    }

    private func show(_ arguments: DriverArguments) async throws -> Int32 {
        let report = try await run(arguments.seed ?? 0, arguments, keepsTrace: true)
        for line in report.trace { print(line) }
        print("digest \(String(report.digest, radix: 16))")
        return report.violation == nil ? 0 : 1
    }

    private func search(_ arguments: DriverArguments) async throws -> Int32 {
        let first = arguments.seed ?? 1
        let started = ContinuousClock.now
        var counts = SimulationCounts()
        for number in 0..<arguments.seeds {
            let report = try await run(first + UInt64(number), arguments, keepsTrace: false)
            counts.add(report.counts)
            if let violation = report.violation {
                print("seed \(first + UInt64(number)), \(arguments.operations) operations: \(violation)")
                return 1
            }
            let isLate = arguments.seconds.map { started.duration(to: .now) > .seconds($0) } ?? false
            if isLate, number + 1 >= arguments.atLeast { return say(number + 1, arguments, counts) }
        }
        return say(arguments.seeds, arguments, counts)
    }

    private func run(
        _ seed: UInt64, _ arguments: DriverArguments, keepsTrace: Bool
    ) async throws -> SimulationReport {
        try await run(
            Run(
                seed: seed, operations: arguments.operations, sabotage: arguments.sabotage, keepsTrace: keepsTrace,
                filesEvery: arguments.filesEvery))
    }

    private func say(_ seeds: Int, _ arguments: DriverArguments, _ counts: SimulationCounts) -> Int32 {
        for (what, count) in counts.counts.sorted(by: { $0.key < $1.key }) { print("  \(what): \(count)") }
        print("\(seeds) seeds of \(arguments.operations) operations, no violation")
        return 0
    }

    private var usage: String {
        """
        usage: \(name) [--seeds N] [--operations N] [--seed S] [--sabotage NAME] [--seconds N] [--at-least N] \
        [--files-every N]
        --seed without --seeds prints what happens; sabotages: \(sabotages.joined(separator: ", "))
        """
    }
}

/// What the command line says.
struct DriverArguments {
    var seeds = 100
    var operations = 200
    /// The first of the seeds; alone, its run is printed.
    var seed: UInt64?
    var sabotage: String?
    /// After so many seconds no further seed is begun, once the seeds asked for at least are done.
    var seconds: Double?
    var atLeast = 0
    /// In every how many-th seed one device has its data in a file.
    var filesEvery = 8

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
        case "--sabotage": return set(\.sabotage, value)
        case "--seconds": return set(\.seconds, Double(value).map(Optional.some))
        case "--files-every": return set(\.filesEvery, Int(value))
        case "--at-least": return set(\.atLeast, Int(value))
        default: return false
        }
    }

    private mutating func set<Value>(_ path: WritableKeyPath<DriverArguments, Value>, _ value: Value?) -> Bool {
        guard let value else { return false }
        self[keyPath: path] = value
        return true
    }
}
