import MirrorSimulator
import SyncSimulator
import Testing

@Suite struct WriteSimulatorTests {
    @Test func `no seed breaks a promise about writes, and in each of them much happens`() async throws {
        var counts = SimulationCounts()
        for seed in UInt64(1)...8 {
            let report = try await run(seed)
            #expect(report.violation == nil, "seed \(seed): \(report.violation?.description ?? "")")
            counts.add(report.counts)
        }
        for what in [
            "changes acknowledged", "changes that callers wait for", "pushes", "joined", "made", "refused", "lost",
            "looked for",
            "found", "unknown", "dropped", "retried", "deaths", "refreshes", "edits on devices", "keys taken",
            "moves that devices hear of", "edits of old ids",
        ] {
            #expect(counts.counts[what, default: 0] > 0, "\(what): \(counts.counts[what, default: 0])")
        }
    }

    @Test(arguments: WriteSabotage.allCases)
    func `each sabotage of writes is caught within two hundred seeds`(_ sabotage: WriteSabotage) async throws {
        for seed in UInt64(1)...200 {
            guard let violation = try await run(seed, sabotage).violation else { continue }
            print("\(sabotage.rawValue): seed \(seed), \(violation)")
            return
        }
        Issue.record("\(sabotage.rawValue) was not noticed")
    }

    @Test(arguments: [7, 8] as [UInt64])
    func `a seed of writes replays line by line`(_ seed: UInt64) async throws {
        let first = try await run(seed, keepsTrace: true)
        #expect(first.trace.count > 100)
        #expect(first.trace == (try await run(seed, keepsTrace: true)).trace)
    }

    private func run(
        _ seed: UInt64, _ sabotage: WriteSabotage? = nil, keepsTrace: Bool = false
    ) async throws -> SimulationReport {
        try await WriteSimulation(
            MirrorSimulationPlan(seed: seed, operations: 200, keepsTrace: keepsTrace), sabotage: sabotage
        ).run()
    }
}
