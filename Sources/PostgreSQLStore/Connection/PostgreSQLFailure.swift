import AdapterKit

/// A failure that the server or the connection to it reported.
struct PostgreSQLFailure: Error, Sendable, CustomStringConvertible {
    /// The server's SQLSTATE; nil where the connection failed.
    let state: String?
    let message: String
    /// The name of the constraint that a change breaks.
    var constraint: String?

    var description: String { "PostgreSQL \(state ?? "connection"): \(message)" }

    /// The server ends the connection with it, or there is none any more.
    var endsConnection: Bool {
        guard let state else { return true }
        return state.hasPrefix("08") || state.hasPrefix("57P")
    }

    /// A server that is a standby now: every connection leads to it, and none is of use.
    var isReadOnlyServer: Bool { state == "25006" }

    /// The transaction may succeed where it is made again.
    var isRepeatable: Bool { state == "40001" || state == "40P01" }

    var isDuplicate: Bool { state == "23505" }

    /// Broken off by this program's own wish.
    var isCancelled: Bool { state == "57014" }

    var asError: PorticoError {
        switch state {
        case nil:
            PorticoError(.storeUnavailable, "The store cannot be reached.", retryAfter: 1, logDetail: description)
        case "53100"?: PorticoError(.storeFull, "The store has no room left.", logDetail: description)
        case "55P03"?, "40001"?, "40P01"?:
            PorticoError(.storeUnavailable, "The store is busy.", retryAfter: 1, logDetail: description)
        case "54000"?: PorticoError(.requestTooLarge, "The record is too large for the store.", logDetail: description)
        case "42501"?: Self.denied(description)
        case let state? where Self.ofTheServer.contains(String(state.prefix(2))):
            PorticoError(.storeUnavailable, "The store cannot be reached.", retryAfter: 1, logDetail: description)
        default: PorticoError(.serverInternal, "The store made a mistake.", logDetail: description)
        }
    }

    /// Classes of SQLSTATE that are no fault of a statement: connection, authorization, read-only server, resources,
    /// operator, system.
    private static let ofTheServer: Set<String> = ["08", "25", "28", "53", "57", "58", "3D", "F0"]

    private static func denied(_ detail: String) -> PorticoError {
        PorticoError(.storeUnavailable, "The store's account lacks rights.", logDetail: detail)
    }

    static let lost = PostgreSQLFailure(state: nil, message: "the connection was lost")
}

extension PorticoError {
    /// Any error as one that a caller may see.
    static func wrapping(_ error: any Error) -> PorticoError {
        switch error {
        case let error as PorticoError: error
        case let error as PostgreSQLFailure: error.asError
        default: PorticoError(.serverInternal, "The store made a mistake.", logDetail: "\(error)")
        }
    }

    static let closed = PorticoError(.storeUnavailable, "The store is closed.")
    static let clientOfAnother = PorticoError(.accessDenied, "The client id belongs to another account.")
    static let sequenceTaken = PorticoError(.recordExists, "The sequence number was used already.", target: "sequence")
}

/// PostgreSQL's statement in a caller's words; an error of a caller's own code as it is.
func translated(_ error: any Error) -> any Error { error is PostgreSQLFailure ? PorticoError.wrapping(error) : error }
