import AdapterKit
import Foundation
import PostgreSQLStore
import RecordStorage
import SQLiteStore

/// Acknowledged, durable mutations a second as pushes make them, of one store: `postgresql-speed sqlite FILE` or
/// `postgresql-speed postgresql ADDRESS SCHEMA`, then optionally CLIENTS (64), SECONDS (3) and MUTATIONS of one push (1).
///
/// A mutation reads its outcome, its client and its record, which it declares, changes the record, and stores the outcome.
/// Prints the rate, this process's processor time of a mutation, and reads of group commits that were not declared.
@main
struct PostgreSQLSpeed {
    static func main() async throws {
        let words = Array(CommandLine.arguments.dropFirst())
        guard words.count >= 2 else {
            throw PorticoError(.requestInvalid, "postgresql-speed sqlite FILE | postgresql ADDRESS SCHEMA")
        }
        let isSQLite = words[0] == "sqlite"
        let numbers = words.dropFirst(isSQLite ? 2 : 3).compactMap { Int($0) }
        let load = MutationLoad(
            clients: numbers.first ?? 64, seconds: numbers.dropFirst().first ?? 3,
            batch: numbers.dropFirst(2).first ?? 1)
        if isSQLite {
            let store = try SQLiteStore(SQLiteStoreSettings(path: words[1], clock: MachineClock()))
            print("sqlite \(try await load.run(on: store))")
            await store.close()
        } else {
            let store = try await PostgreSQLStore.open(
                PostgreSQLStoreSettings(url: words[1], schema: words[2], clock: MachineClock()))
            print("postgresql \(try await load.run(on: store)), \(store.undeclaredReads) reads not declared")
            await store.close()
        }
    }
}

/// Clients that push.
struct MutationLoad: Sendable {
    let clients: Int
    let seconds: Int
    let batch: Int

    private static let records = 20_000
    private static let collection = CollectionID("speed", "notes")
    private static let entity = Entity(
        "notes", summary: "Notes.", key: EntityKey("id", chosenBy: .caller),
        fields: [
            Field("id", .string(maximumLength: 64), isRequired: true), Field("title", .string(maximumLength: 200)),
            Field("body", .string), Field("owner", .string, source: .creator),
            Field("modified", .date, source: .modifiedAt),
        ], rows: RowRules(read: .owner("owner"), write: .owner("owner")))

    func run(on store: any Store) async throws -> String {
        try await store.install([CollectionDeclaration(adapter: "speed", entity: Self.entity)])
        try await fill(store)
        let end = ContinuousClock.now + .seconds(seconds)
        let (start, processor) = (ContinuousClock.now, clock())
        let made = try await withThrowingTaskGroup { group in
            for client in 0..<clients { group.addTask { try await push(as: client, to: store, until: end) } }
            return try await group.reduce(0, +)
        }
        let wall = (ContinuousClock.now - start) / .seconds(1)
        let each = Double(clock() - processor) / Double(CLOCKS_PER_SEC) * 1e6 / Double(made)
        return "\(Int(Double(made) / wall)) mutations/s, \(Int(each)) µs of this process a mutation"
    }

    private func fill(_ store: any Store) async throws {
        guard try await store.count(nil, in: Self.collection) == 0 else { return }
        for first in stride(from: 0, to: Self.records, by: 1_000) {
            let steps = (first..<(first + 1_000)).map { number in
                step(.create(id(number), ["title": "title", "body": .string(Self.text)]))
            }
            _ = try await store.write(WriteTransaction(steps, author: "ann"))
        }
    }

    private static let text = "some text of a note that is about eighty bytes long, as notes are, not much more"

    private func id(_ number: Int) -> RecordID { RecordID(unchecked: "n\(number % Self.records)") }

    private func step(_ action: RecordChange.Action) -> WriteTransaction.Step {
        let own = Filter.compare("owner", .equal, "ann")
        return WriteTransaction.Step(
            adapter: "speed", change: RecordChange("notes", action), visible: own, writableBefore: own,
            writableAfter: own, isForCaller: true)
    }

    private func push(as number: Int, to store: any Store, until end: ContinuousClock.Instant) async throws -> Int {
        let client = ClientID(unchecked: "client-\(UInt32.random(in: .min ... .max))-\(number)")
        var made = 0
        while ContinuousClock.now < end {
            let first = made
            let ids = (0..<batch).map { id(number * 997 + (first + $0) * 101) }
            var reads: [StoreRead] = [.client(client)]
            for (place, record) in ids.enumerated() {
                reads += [.outcome(Int64(first + place + 1), from: client), .record(record, in: Self.collection)]
            }
            try await store.transact(weight: batch, expecting: reads) { transaction in
                for (place, record) in ids.enumerated() {
                    let sequence = Int64(first + place + 1)
                    guard try transaction.outcome(of: sequence, from: client) == nil else { continue }
                    try transaction.undoing {
                        let change = step(.update(record, ["title": .string("title \(sequence)")]))
                        let receipt = try transaction.apply(WriteTransaction([change], author: "ann"))
                        try transaction.remember(
                            ["outcome": "applied", "rev": .int64(receipt.position.number)], of: sequence, from: client,
                            of: "ann")
                    }
                }
            }
            made += batch
        }
        return made
    }
}

private struct MachineClock: WallClock {
    func now() -> WireDate { WireDate(secondsSinceReferenceDate: Date().timeIntervalSinceReferenceDate) }
}
