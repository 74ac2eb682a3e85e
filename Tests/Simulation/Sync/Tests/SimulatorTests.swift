import SyncSimulator
import Testing

@Suite
struct SimulatorTests {
    @Test
    func `no seed breaks a promise, and in each of them much happens`() async throws {
        var counts = SimulationCounts()
        for seed in UInt64(1)...40 {
            let report = try await run(seed)
            #expect(report.violation == nil, "seed \(seed)")
            counts.add(report.counts)
        }
        for what in [
            "live pages", "live streams begun anew", "role changes", "nulls", "compactions", "restores",
            "pieces staged", "devices in a file", "ends at a commit", "positions that lag",
        ] {
            #expect(counts.counts[what, default: 0] > 4, "\(what)")
        }
    }

    @Test(arguments: Sabotage.allCases)
    func `each sabotage is caught within a thousand seeds`(_ sabotage: Sabotage) async throws {
        for seed in UInt64(1)...1000 where try await run(seed, sabotage).violation != nil {
            print("\(sabotage.rawValue): seed \(seed)")
            return
        }
        Issue.record("nobody noticed \(sabotage.rawValue)")
    }

    @Test(arguments: [7, 8] as [UInt64])
    func `a seed replays line by line, with a device in a file and without`(_ seed: UInt64) async throws {
        let first = try await run(seed, keepsTrace: true)
        let second = try await run(seed, keepsTrace: true)
        #expect(first.trace.count > 200)
        #expect(first.trace == second.trace)
    }

    private func run(
        _ seed: UInt64, _ sabotage: Sabotage? = nil, keepsTrace: Bool = false
    ) async throws -> SimulationReport {
        var simulation = try await Simulation(
            SimulationPlan(
                seed: seed, operations: 100, sabotage: sabotage, keepsTrace: keepsTrace,
                // Only a file can have that broken.
                filesEvery: sabotage == .checkpointFirst ? 1 : 2))
        return try await simulation.run()
    }
}
