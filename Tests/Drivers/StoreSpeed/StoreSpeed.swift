import AdapterKit
import Foundation
import RecordStorage
import SQLiteStore

/// Measures what a call of the store costs, through its public interface, with 10,000 rows: `store-speed [SECONDS]`;
/// with `--mutations` what it acknowledges a second, with `--pulls` what a replica's pulls cost (Benchmarks/Store);
/// `--calls COUNT PLACE` makes that one of the calls so often and nothing else, to count instructions of two counts.
///
/// Printed are microseconds of processor time a call: of all tasks together, so that the number of cores does not matter.
@main
struct StoreSpeed {
    static func main() async throws {
        let words = CommandLine.arguments.dropFirst()
        let seconds = words.first.flatMap { Double($0) } ?? 2
        let directory = FileManager.default.temporaryDirectory.appending(path: "store-speed-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        if words.contains("--mutations") {
            return try await MutationSpeed(directory: directory, seconds: seconds).run()
        }
        if words.contains("--pulls") { return try await PullSpeed(directory: directory).run() }
        let store = try SQLiteStore(
            SQLiteStoreSettings(path: directory.appending(path: "store.sqlite").path, clock: FixedClock()))
        try await store.install([CollectionDeclaration(adapter: "staff", entity: People.entity)])
        try await load(store)
        if words.first == "--calls" {
            let numbers = words.dropFirst().compactMap { Int($0) }
            guard numbers.count == 2, Measurement.all.indices.contains(numbers[1]) else { return await store.close() }
            try await Measurement.all[numbers[1]].run(on: store, calls: numbers[0])
            return await store.close()
        }
        for measurement in Measurement.all { try await report(measurement, on: store, for: seconds) }
        await store.close()
    }

    private static func load(_ store: SQLiteStore) async throws {
        let start = ContinuousClock.now
        _ = try await People.records(store).apply((0..<People.count).map { People.creation($0) })
        print("10,000 rows loaded in \(ContinuousClock.now - start)")
    }

    private static func report(_ measurement: Measurement, on store: SQLiteStore, for seconds: Double) async throws {
        let (calls, wall, processor) = try await measurement.run(on: store, for: seconds)
        let each = String(format: "%8.1f", processor / Double(calls) * 1e6)
        let rate = String(format: "%9.0f", Double(calls) / wall)
        print("\(each) µs of processor a call, \(rate) calls/s, \(measurement.tasks) tasks: \(measurement.name)")
    }
}

struct FixedClock: WallClock {
    func now() -> WireDate { WireDate(secondsSinceReferenceDate: 12 * 3600) }
}
