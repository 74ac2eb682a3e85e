import AdapterKit
import Glibc
import RecordStorage
import SQLiteStore

/// One kind of call, made again and again.
struct Measurement: Sendable {
    let name: String
    let tasks: Int
    private let call: @Sendable (AdapterRecords, Int) async throws -> Void

    init(_ name: String, tasks: Int = 8, _ call: @escaping @Sendable (AdapterRecords, Int) async throws -> Void) {
        self.name = name
        self.tasks = tasks
        self.call = call
    }

    /// How often the call was made, in how many seconds, and the processor's seconds.
    func run(on store: SQLiteStore, for seconds: Double) async throws -> (Int, Double, Double) {
        let start = ContinuousClock.now
        let end = start + .seconds(seconds)
        let processor = clock()
        let calls = try await withThrowingTaskGroup { group in
            for task in 0..<tasks {
                group.addTask { try await repeated(People.records(store), from: task * 1009, until: end) }
            }
            return try await group.reduce(0, +)
        }
        let wall = (ContinuousClock.now - start) / .seconds(1)
        return (calls, wall, Double(clock() - processor) / Double(CLOCKS_PER_SEC))
    }

    /// One after the other.
    func run(on store: SQLiteStore, calls: Int) async throws {
        let records = People.records(store)
        for number in 0..<calls { try await call(records, number) }
    }

    private func repeated(
        _ records: AdapterRecords, from first: Int, until end: ContinuousClock.Instant
    ) async throws -> Int {
        var calls = 0
        while ContinuousClock.now < end {
            for _ in 0..<8 {
                try await call(records, first + calls)
                calls += 1
            }
        }
        return calls
    }
}

extension Measurement {
    static let all = [
        Measurement("a record by its id") { records, number in
            _ = try await records.record(People.id(number % People.count), in: "employees")
        },
        Measurement("a record by its id, one task", tasks: 1) { records, number in
            _ = try await records.record(People.id(number % People.count), in: "employees")
        },
        Measurement("page of 10 in key order, from a cursor") { records, number in
            let cursor = Cursor(values: [.string(People.id(number % People.count).text)])
            _ = try await records.query(Query(limit: 10, start: .after(cursor)), in: "employees")
        },
        Measurement("page of 10 of a division, by division and key") { records, number in
            let filter = Filter.compare("division", .equal, .string("Division \(number % 12)"))
            _ = try await records.query(Query(filter, order: [SortKey("division")], limit: 10), in: "employees")
        },
        Measurement("the same with the total") { records, number in
            let filter = Filter.compare("division", .equal, .string("Division \(number % 12)"))
            let query = Query(filter, order: [SortKey("division")], limit: 10, countsAll: true)
            _ = try await records.query(query, in: "employees")
        },
        Measurement("page of 10 of a filter of three conditions and a list") { records, number in
            let filter = Filter.all([
                .compare("division", .equal, .string("Division \(number % 12)")), .not(.isNull("email")),
                .hasPrefix("firstName", "A"), .oneOf("lastName", ["Adason", "Benson", "Danson"]),
            ])
            _ = try await records.query(Query(filter, order: [SortKey("division")], limit: 10), in: "employees")
        },
        Measurement("search of two words, page of 10") { records, number in
            let filter = Filter.search(words: ["ada", "ben"])
            _ = try await records.query(Query(filter, limit: 10), in: "employees")
        },
        Measurement("a durable update") { records, number in
            try await records.update(
                People.id(number % People.count), ["phoneNumber": .string("\(number)")], in: "employees")
        },
        Measurement("a durable update, 64 tasks", tasks: 64) { records, number in
            try await records.update(
                People.id(number % People.count), ["phoneNumber": .string("\(number)")], in: "employees")
        },
    ]
}
