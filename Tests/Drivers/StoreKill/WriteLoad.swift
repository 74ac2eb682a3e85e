import AdapterKit
import Foundation
import RecordStorage
import SQLiteStore

/// The process that is killed: tasks that write without a pause, each its own records.
struct WriteLoad {
    private static let tasks = 8
    private static let recordsPerTask = 12
    private let options: Options

    init(_ options: Options) {
        self.options = options
    }

    func run() async throws {
        let store = try await Entries.open(options)
        let ledger = try Ledger(options.ledgerPath)
        try await withThrowingTaskGroup { group in
            for task in 0..<Self.tasks {
                group.addTask { try await write(as: task, to: store, ledger) }
            }
            try await group.waitForAll()
        }
    }

    private func write(as task: Int, to store: SQLiteStore, _ ledger: Ledger) async throws {
        var number = 0
        while true {
            let id = "t\(task)-\(number % Self.recordsPerTask)"
            let removes = number % 5 == 4
            let state = removes ? "-" : "r\(options.writerRound ?? 0)n\(number)"
            number += 1
            if removes, try await store.record(RecordID(unchecked: id), in: Entries.collection, visible: nil) == nil {
                continue
            }
            try ledger.append("begin", id, state)
            do {
                let receipt = try await store.write(Entries.change(RecordID(unchecked: id), to: state))
                try ledger.append("done", id, state, receipt.position.description)
            } catch let error as PorticoError where options.toleratesFailures {
                try ledger.append("failed", id, error.code.rawValue)
                try await checkReads(of: store, id)
                try await Task.sleep(for: .milliseconds(5))
            }
        }
    }

    /// Whatever became of writes, reads go on.
    private func checkReads(of store: SQLiteStore, _ id: String) async throws {
        _ = try await store.record(RecordID(unchecked: id), in: Entries.collection, visible: nil)
        _ = try await store.count(nil, in: Entries.collection)
    }
}
