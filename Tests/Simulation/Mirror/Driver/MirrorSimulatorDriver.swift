import Foundation
import MirrorSimulator
import SyncSimulator

/// Runs seed after seed until one breaks a promise. Exit 0: none did; 1: one did, its seed is printed; 2: usage.
@main
enum MirrorSimulatorDriver {
    static func main() async throws {
        let sabotages =
            MirrorSabotage.allCases.map(\.rawValue) + WriteSabotage.allCases.map(\.rawValue)
            + CallerSabotage.allCases.map(\.rawValue)
        let driver = SimulationDriver("mirror-simulator", sabotages: sabotages) { run in
            let plan = MirrorSimulationPlan(
                seed: run.seed, operations: run.operations, sabotage: run.sabotage.flatMap(MirrorSabotage.init),
                keepsTrace: run.keepsTrace)
            let writing = run.sabotage.flatMap(WriteSabotage.init)
            let calling = run.sabotage.flatMap(CallerSabotage.init)
            let isWhole = run.sabotage == nil
            var reports: [SimulationReport] = []
            if isWhole || plan.sabotage != nil { reports.append(try await MirrorSimulation(plan).run()) }
            if isWhole || writing != nil { reports.append(try await WriteSimulation(plan, sabotage: writing).run()) }
            if isWhole || calling != nil { reports.append(try await CallerSimulation(plan, sabotage: calling).run()) }
            return SimulationReport(
                violation: reports.lazy.compactMap(\.violation).first, trace: reports.flatMap(\.trace),
                digest: reports.reduce(0) { $0 ^ $1.digest },
                counts: reports.reduce(into: SimulationCounts()) { $0.add($1.counts) })
        }
        exit(try await driver.status(Array(CommandLine.arguments.dropFirst())))
    }
}
