import AdapterKit
import DurableFiles
import GRDB
import GRDBSQLite
import RecordStorage
import Synchronization

/// Whether the store's files are those that it has open, and whether they can be written.
final class StoreHealth: Sendable {
    private let paths: Mutex<WatchedPaths>
    private let problem = Mutex<StoreProblem?>(nil)
    private let isMisplaced = Atomic<Bool>(false)

    init() {
        paths = Mutex(WatchedPaths([]))
    }

    /// The paths whose files are open from now on.
    func watch(_ watched: [String]) {
        paths.withLock { $0 = WatchedPaths(watched) }
    }

    var current: StoreProblem? {
        isMisplaced.load(ordering: .acquiring) ? .misplaced : problem.withLock { $0 }
    }

    /// By what was found last; asks nothing of the system. Throws `store.unavailable`.
    func requireInPlace() throws(PorticoError) {
        if isMisplaced.load(ordering: .acquiring) { throw .misplaced }
    }

    /// Looks where the paths lead now. Throws `store.unavailable`.
    func checkPlaces() throws(PorticoError) {
        let path = paths.withLock { $0.misplaced }
        isMisplaced.store(path != nil, ordering: .releasing)
        if path != nil { throw .misplaced }
    }

    /// Whatever a write failed with.
    func note(_ error: any Error) {
        guard let found = StoreProblem(error) else { return }
        problem.withLock { problem in
            if problem != .damaged { problem = found }
        }
    }

    /// A write has succeeded that was made to find out.
    func recovered() {
        problem.withLock { problem in
            if problem != .damaged { problem = nil }
        }
    }
}

extension StoreProblem {
    /// Nil for what is no fault of the disk.
    fileprivate init?(_ error: any Error) {
        switch error {
        case let error as SQLiteFailure where error.isOfTheFile: self = .damaged
        case let error as SQLiteFailure where error.isOfTheDisk: self = .failing
        case let error as SQLiteFailure where error.isForWantOfRoom: self = .full
        case let error as PorticoError where error.code == .storeFull: self = .full
        default: return nil
        }
    }
}

extension PorticoError {
    fileprivate static let misplaced = PorticoError(
        .storeUnavailable, "The store is not available.", retryAfter: 30,
        logDetail: "a file of the store was moved, deleted or replaced")
}

/// Finds out whether writes succeed again, by one.
struct WriteProbe {
    let database: Database

    /// Writes that many bytes, durably, and removes them. Smaller writes may succeed where others still fail.
    private static let bytes = 256 << 10

    /// Throws where the disk still fails, or has no room.
    func run() throws {
        do {
            let name = "'probe'"
            try transact("INSERT OR REPLACE INTO portico_meta VALUES (\(name), hex(zeroblob(\(Self.bytes / 2))))")
            try transact("DELETE FROM portico_meta WHERE name = \(name)")
        } catch {
            if sqlite3_get_autocommit(database.sqliteConnection) == 0 { try? database.run("ROLLBACK") }
            throw error
        }
    }

    private func transact(_ statement: String) throws {
        try database.run("BEGIN IMMEDIATE")
        try database.run(statement)
        try database.run("COMMIT")
    }
}
