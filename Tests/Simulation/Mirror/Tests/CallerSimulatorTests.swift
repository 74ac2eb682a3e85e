import MirrorSimulator
import SyncSimulator
import Testing

@Suite struct CallerSimulatorTests {
    @Test func `no seed shows a caller another's row, and in each of them much happens`() async throws {
        var counts = SimulationCounts()
        for seed in UInt64(1)...8 {
            let report = try await run(seed)
            #expect(report.violation == nil, "seed \(seed): \(report.violation?.description ?? "")")
            counts.add(report.counts)
        }
        for what in [
            "sign-ins", "sign-outs", "sign-outs while rows are fetched", "fetches", "refused", "cleared away", "deaths",
            "pulled",
        ] {
            #expect(counts.counts[what, default: 0] > 0, "\(what): \(counts.counts[what, default: 0])")
        }
    }

    @Test(arguments: CallerSabotage.allCases)
    func `each sabotage of rows of callers is caught within two hundred seeds`(_ sabotage: CallerSabotage) async throws
    {
        for seed in UInt64(1)...200 {
            guard let violation = try await run(seed, sabotage).violation else { continue }
            print("\(sabotage.rawValue): seed \(seed), \(violation)")
            return
        }
        Issue.record("\(sabotage.rawValue) was not noticed")
    }

    private func run(_ seed: UInt64, _ sabotage: CallerSabotage? = nil) async throws -> SimulationReport {
        try await CallerSimulation(MirrorSimulationPlan(seed: seed, operations: 300), sabotage: sabotage).run()
    }
}
