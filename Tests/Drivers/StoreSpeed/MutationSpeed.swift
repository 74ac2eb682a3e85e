import AdapterKit
import Foundation
import RecordStorage
import SQLiteStore

/// Acknowledged, durable mutations a second, as a push makes them: each with its outcome, those of a batch in one
/// transaction. Prints `mutations BATCH CLIENTS RATE`, a line for each pair.
struct MutationSpeed {
    let directory: URL
    let seconds: Double

    func run() async throws {
        for batch in [1, 10, 100] {
            for clients in [1, 8, 64] {
                let store = try SQLiteStore(
                    SQLiteStoreSettings(
                        path: directory.appending(path: "mutations-\(batch)-\(clients).sqlite").path,
                        clock: FixedClock()))
                try await store.install([CollectionDeclaration(adapter: "staff", entity: People.unsearched)])
                let rate = try await measure(store, batch: batch, clients: clients)
                print("mutations \(batch) \(clients) \(Int(rate))")
                await store.close()
            }
        }
    }

    private func measure(_ store: SQLiteStore, batch: Int, clients: Int) async throws -> Double {
        let start = ContinuousClock.now
        let end = start + .seconds(seconds)
        let made = try await withThrowingTaskGroup { group in
            for client in 0..<clients {
                group.addTask { try await push(as: client, batch: batch, to: store, until: end) }
            }
            return try await group.reduce(0, +)
        }
        return Double(made) / ((ContinuousClock.now - start) / .seconds(1))
    }

    private func push(
        as client: Int, batch: Int, to store: SQLiteStore, until end: ContinuousClock.Instant
    ) async throws -> Int {
        let id = ClientID(unchecked: "client-\(client)")
        var made = 0
        while ContinuousClock.now < end {
            let first = made
            try await store.transact(weight: batch) { transaction in
                for number in first..<(first + batch) {
                    let change = People.creation(client * 10_000_000 + number)
                    let step = WriteTransaction.Step(adapter: "staff", change: change)
                    let receipt = try transaction.apply(WriteTransaction([step], author: "ann"))
                    try transaction.remember(
                        ["outcome": "applied", "rev": .int64(receipt.position.number)], of: Int64(number + 1), from: id,
                        of: "ann")
                }
            }
            made += batch
        }
        return made
    }
}
