import Foundation
import SyncSimulator

/// Runs seed after seed until one breaks a promise. Exit 0: none did; 1: one did, its seed is printed; 2: usage.
@main
enum SyncSimulatorDriver {
    static func main() async throws {
        guard let arguments = Arguments(CommandLine.arguments.dropFirst()) else {
            FileHandle.standardError.write(Data((Arguments.usage + "\n").utf8))
            exit(2)
        }
        exit(arguments.printsTrace ? try await show(arguments) : try await search(arguments))
    }

    private static func show(_ arguments: Arguments) async throws -> Int32 {
        let report = try await run(arguments.seed ?? 0, arguments, keepsTrace: true)
        for line in report.trace { print(line) }
        print("digest \(String(report.digest, radix: 16))")
        return report.violation == nil ? 0 : 1
    }

    private static func search(_ arguments: Arguments) async throws -> Int32 {
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

    private static func run(
        _ seed: UInt64, _ arguments: Arguments, keepsTrace: Bool
    ) async throws -> SimulationReport {
        let plan = SimulationPlan(
            seed: seed, operations: arguments.operations, sabotage: arguments.sabotage, keepsTrace: keepsTrace,
            filesEvery: arguments.filesEvery)
        var simulation = try await Simulation(plan)
        return try await simulation.run()
    }

    private static func say(_ seeds: Int, _ arguments: Arguments, _ counts: SimulationCounts) -> Int32 {
        for (what, count) in counts.counts.sorted(by: { $0.key < $1.key }) { print("  \(what): \(count)") }
        print("\(seeds) seeds of \(arguments.operations) operations, no violation")
        return 0
    }
}
