import AdapterKit
import Foundation
import GRDB
import GRDBSQLite
import RecordStorage
import Synchronization

/// Whether a read may go on. Asked between statements and rows, and by SQLite while a statement works.
protocol ReadControl: Sendable {
    /// Throws why the read is to end. Cheap.
    func check() throws
}

/// Of a read on its caller's task. Each of its statements is short.
struct TaskReadControl: ReadControl {
    func check() throws { try Task.checkCancellation() }
}

/// Of a transaction that writes, which ends by itself.
struct UncontrolledRead: ReadControl {
    func check() {}
}

/// Of reads of rules in a transaction that writes: ends where they have taken too much of its thread's time.
final class BudgetedRead: ReadControl {
    private let budget: RuleReadBudget
    /// Of the thread, when it was looked at last.
    private let last: Mutex<Duration>

    /// Of the calling thread, from now on.
    init(_ budget: RuleReadBudget) {
        self.budget = budget
        last = Mutex(Self.threadTime)
    }

    func check() throws {
        let now = Self.threadTime
        let spent = last.withLock { last in
            defer { last = now }
            return now - last
        }
        try budget.spend(spent)
    }

    private static var threadTime: Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}

/// Of a read on a thread of its own: ends when its task is cancelled, when the store is closed, and when its turn is over
/// while another caller waits.
final class LongReadControl: ReadControl {
    private let reason = Mutex<(any Error)?>(nil)
    private let place: ReadPermit
    private let places: ReadPermits

    init(_ place: ReadPermit, of places: ReadPermits) {
        self.place = place
        self.places = places
    }

    func check() throws {
        if let reason = reason.withLock({ $0 }) { throw reason }
        if places.isTurnOver(of: place) { throw ReadPermits.turnIsOver }
    }

    /// The first reason counts.
    func stop(_ error: any Error) {
        reason.withLock { if $0 == nil { $0 = error } }
    }
}

extension DatabaseQueue {
    /// One transaction, broken off within a statement and between two as soon as `control` says so.
    func read(
        under control: any ReadControl, _ body: (Database) throws -> Void
    ) throws {
        let watch = StatementWatch(control)
        do {
            try read { database in
                watch.begin(on: database)
                defer { watch.end(on: database) }
                try body(database)
            }
        } catch let failure as SQLiteFailure where failure.primary == SQLITE_INTERRUPT {
            try control.check()
            throw failure.asError
        } catch {
            throw translated(error)
        }
    }
}

/// Lets SQLite ask a control every so often while a statement works, and its functions too.
final class StatementWatch {
    /// Of SQLite's virtual machine, well below a millisecond of them.
    private static let steps: Int32 = 20_000

    private let control: any ReadControl

    init(_ control: any ReadControl) {
        self.control = control
    }

    func begin(on database: Database) {
        let control = control
        FunctionWork.of(database)?.begin { try control.check() }
        sqlite3_progress_handler(
            database.sqliteConnection, Self.steps,
            { context in
                guard let context else { return 0 }
                let watch = Unmanaged<StatementWatch>.fromOpaque(context).takeUnretainedValue()
                do {
                    try watch.control.check()
                    return 0
                } catch {
                    return 1
                }
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    func end(on database: Database) {
        FunctionWork.of(database)?.end()
        sqlite3_progress_handler(database.sqliteConnection, 0, nil, nil)
    }
}
