import GRDB
import GRDBSQLite
import Synchronization

/// The work of one connection's functions since a read began, and whether the read may go on.
///
/// SQLite counts a statement's instructions, and one call of a function is one instruction, whatever it does: a search
/// through megabytes would be neither broken off nor moved to a thread of its own. So functions count bytes here.
final class FunctionWork: Sendable {
    /// The work that a read's functions may do on its caller's thread: some milliseconds. In bytes that are looked at once.
    static let quickBytes = 4 << 20
    /// Between two looks at whether a long read may go on.
    static let bytesBetweenChecks = 64 << 10

    private let left = Atomic(Int.max)
    private let check = Mutex<Check?>(nil)

    /// In a structure: a lock wraps a function once more with each use.
    private struct Check {
        /// Throws where a long read is to end.
        let look: @Sendable () throws -> Void
    }

    /// A read on its caller's thread begins.
    func beginQuickRead() { left.store(Self.quickBytes, ordering: .relaxed) }

    /// A read begins that ends when `check` throws.
    func begin(asking check: @escaping @Sendable () throws -> Void) {
        self.check.withLock { $0 = Check(look: check) }
        left.store(Self.bytesBetweenChecks, ordering: .relaxed)
    }

    /// Ends the read's work; what comes after ends by itself.
    func end() {
        check.withLock { $0 = nil }
        left.store(.max, ordering: .relaxed)
    }

    /// Counts about so many bytes. Throws ``FunctionInterrupted`` where the read is to end. A connection has one thread at a
    /// time, so nothing is counted in between.
    func spend(_ bytes: Int) throws {
        let rest = left.load(ordering: .relaxed) &- bytes
        left.store(rest, ordering: .relaxed)
        if rest < 0 { try look() }
    }

    private func look() throws {
        guard let check = check.withLock({ $0 }) else { throw FunctionInterrupted() }
        do { try check.look() } catch { throw FunctionInterrupted() }
        left.store(Self.bytesBetweenChecks, ordering: .relaxed)
    }
}

/// A function was broken off: its statement ends as if SQLite had been interrupted.
struct FunctionInterrupted: Error {}

extension FunctionWork {
    /// By connection, from the registration of its functions to their end.
    private static let connections = Mutex<[UInt: FunctionWork]>([:])

    /// The work of the functions on `connection`.
    static func of(_ connection: Database) -> FunctionWork? {
        let address = UInt(bitPattern: connection.sqliteConnection)
        return connections.withLock { $0[address] }
    }

    /// Held by the functions of a connection; the last one ends it.
    final class Registration {
        let work = FunctionWork()
        private let address: UInt

        init(on database: Database) {
            let (address, work) = (UInt(bitPattern: database.sqliteConnection), work)
            self.address = address
            FunctionWork.connections.withLock { $0[address] = work }
        }

        deinit {
            let address = address
            _ = FunctionWork.connections.withLock { $0.removeValue(forKey: address) }
        }
    }
}
