import MirrorSimulator
import SyncSimulator
import Testing

@Suite struct MirrorSimulatorTests {
    @Test func `no seed breaks a promise, and in each of them much happens`() async throws {
        var counts = SimulationCounts()
        for seed in UInt64(1)...8 {
            let report = try await run(seed)
            #expect(report.violation == nil, "seed \(seed): \(report.violation?.description ?? "")")
            counts.add(report.counts)
        }
        for what in [
            "refreshes", "held back", "released", "answers refused", "failed refreshes", "deaths",
            "replaced as a whole", "changed one by one", "refreshes without a change", "reads served", "reads refused",
            "writes while a refresh goes on", "pulled", "pushes while a refresh goes on",
            "changes of the mirror refused",
        ] {
            #expect(counts.counts[what, default: 0] > 0, "\(what): \(counts.counts[what, default: 0])")
        }
    }

    @Test(arguments: MirrorSabotage.allCases)
    func `each sabotage is caught within two hundred seeds`(_ sabotage: MirrorSabotage) async throws {
        for seed in UInt64(1)...200 {
            guard let violation = try await run(seed, sabotage).violation else { continue }
            print("\(sabotage.rawValue): seed \(seed), \(violation)")
            return
        }
        Issue.record("\(sabotage.rawValue) was not noticed")
    }

    @Test(arguments: [7, 8] as [UInt64])
    func `a seed replays line by line`(_ seed: UInt64) async throws {
        let first = try await run(seed, keepsTrace: true)
        #expect(first.trace.count > 100)
        #expect(first.trace == (try await run(seed, keepsTrace: true)).trace)
    }

    private func run(
        _ seed: UInt64, _ sabotage: MirrorSabotage? = nil, keepsTrace: Bool = false
    ) async throws -> SimulationReport {
        try await MirrorSimulation(
            MirrorSimulationPlan(seed: seed, operations: 200, sabotage: sabotage, keepsTrace: keepsTrace)
        ).run()
    }
}
