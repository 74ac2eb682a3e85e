import Foundation
import SyncSimulator

/// Runs seed after seed until one breaks a promise. Exit 0: none did; 1: one did, its seed is printed; 2: usage.
@main
enum SyncSimulatorDriver {
    static func main() async throws {
        let driver = SimulationDriver("sync-simulator", sabotages: Sabotage.allCases.map(\.rawValue)) { run in
            let plan = SimulationPlan(
                seed: run.seed, operations: run.operations, sabotage: run.sabotage.flatMap(Sabotage.init),
                keepsTrace: run.keepsTrace, filesEvery: run.filesEvery)
            var simulation = try await Simulation(plan)
            return try await simulation.run()
        }
        exit(try await driver.status(Array(CommandLine.arguments.dropFirst())))
    }
}
