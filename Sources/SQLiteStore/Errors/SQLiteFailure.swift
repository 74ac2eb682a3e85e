import AdapterKit
import GRDB
import GRDBSQLite

/// SQLite's statement when it does not do something.
struct SQLiteFailure: Error {
    /// The extended result code; its low byte is the primary one.
    let code: Int32
    let message: String

    init(code: Int32, message: String) {
        self.code = code
        self.message = message
    }

    init(handle: OpaquePointer, code: Int32) {
        let database = sqlite3_db_handle(handle)
        self.init(
            code: sqlite3_extended_errcode(database),
            message: sqlite3_errmsg(database).map { String(cString: $0) } ?? "code \(code)")
    }

    init(_ error: DatabaseError) {
        self.init(code: error.extendedResultCode.rawValue, message: error.message ?? "")
    }

    var primary: Int32 { code & 0xFF }

    /// Whether the disk failed, so that nothing may be written before ``WriterRecovery`` has been through: after a failed
    /// sync the kernel may have dropped the very pages that a second one would report as written.
    var isOfTheDisk: Bool { primary == SQLITE_IOERR }

    /// Whether the file is damaged, so that nothing may be written until it is another one.
    var isOfTheFile: Bool { primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB }

    /// Whether the disk, or the file's largest size, is reached.
    var isForWantOfRoom: Bool { primary == SQLITE_FULL }

    static let damaged = "The store's file is damaged; restore it from a backup."

    var asError: PorticoError {
        let detail = "SQLite \(code): \(message)"
        switch primary {
        case SQLITE_FULL:
            return PorticoError(.storeFull, "The store has no room left.", logDetail: detail)
        case SQLITE_BUSY, SQLITE_LOCKED:
            return PorticoError(.storeUnavailable, "The store is busy.", retryAfter: 1, logDetail: detail)
        case SQLITE_CORRUPT, SQLITE_NOTADB:
            return PorticoError(.storeUnavailable, Self.damaged, logDetail: detail)
        case SQLITE_TOOBIG:
            return PorticoError(.requestTooLarge, "The record is too large for the store.", logDetail: detail)
        case SQLITE_ERROR, SQLITE_MISUSE, SQLITE_RANGE, SQLITE_CONSTRAINT:
            return PorticoError(.serverInternal, "The store made a mistake.", logDetail: detail)
        default:
            return PorticoError(.storeUnavailable, "The store cannot be reached.", logDetail: detail)
        }
    }
}

extension PorticoError {
    /// Any error as one that a caller may see.
    static func wrapping(_ error: any Error) -> PorticoError {
        switch error {
        case let error as PorticoError: error
        case let error as SQLiteFailure: error.asError
        case let error as DatabaseError: SQLiteFailure(error).asError
        default: PorticoError(.serverInternal, "The store made a mistake.", logDetail: "\(error)")
        }
    }
}

/// SQLite's statement in a caller's words; an error of a caller's own code as it is.
func translated(_ error: any Error) -> any Error {
    error is SQLiteFailure || error is DatabaseError ? PorticoError.wrapping(error) : error
}

extension PorticoError {
    static let clientOfAnother = PorticoError(.accessDenied, "The client id belongs to another account.")
    static let sequenceTaken = PorticoError(.recordExists, "The sequence number was used already.", target: "sequence")
}

extension SQLiteFailure {
    /// A value that must be unique is there already.
    var isDuplicate: Bool {
        code == SQLITE_CONSTRAINT | 8 << 8 || code == SQLITE_CONSTRAINT | 6 << 8 || code == SQLITE_CONSTRAINT | 10 << 8
    }

    /// From `UNIQUE constraint failed: adapter/entity.field, adapter/entity.other`, the names without their tables.
    var duplicateFields: [String] {
        guard let colon = message.firstIndex(of: ":") else { return [] }
        return message[message.index(after: colon)...].split(separator: ",").compactMap { column in
            column.split(separator: ".").last.map { String($0) }
        }
    }
}

extension PorticoError {
    /// Whatever was thrown where the database and the file system both take part.
    static func ofFiles(_ error: any Error, _ message: String) -> PorticoError {
        switch translated(error) {
        case let error as PorticoError: error
        case let error: PorticoError(.storeUnavailable, message, logDetail: "\(error)")
        }
    }
}
