import Foundation
import MirrorSimulator
import SyncSimulator

/// Runs seed after seed until one breaks a promise. Exit 0: none did; 1: one did, its seed is printed; 2: usage.
@main
enum MirrorSimulatorDriver {
    static func main() async throws {
        let driver = SimulationDriver("mirror-simulator", sabotages: MirrorSabotage.allCases.map(\.rawValue)) { run in
            let plan = MirrorSimulationPlan(
                seed: run.seed, operations: run.operations, sabotage: run.sabotage.flatMap(MirrorSabotage.init),
                keepsTrace: run.keepsTrace)
            return try await MirrorSimulation(plan).run()
        }
        exit(try await driver.status(Array(CommandLine.arguments.dropFirst())))
    }
}
