import Synchronization

/// Which statements are worth keeping: those that are asked for a second time, as long as there is room.
///
/// GRDB's cache keeps what it has for as long as a connection is open, and callers' questions have any shape, so not
/// every one may come into it. Preparing costs more than finding ten rows.
final class StatementAdmission: Sendable {
    private struct State {
        var admitted: Set<String> = []
        /// Those that were asked for once, in the order in which they are forgotten.
        var recent: [String] = []
        var next = 0

        mutating func remember(_ sql: String) {
            guard recent.count == StatementAdmission.maximumRecent else { return recent.append(sql) }
            recent[next] = sql
            next = (next + 1) % recent.count
        }
    }

    /// Statements that are kept, on each connection.
    static let maximumKept = 192
    private static let maximumRecent = 256

    private let state = Mutex(State())

    func admits(_ sql: String) -> Bool {
        state.withLock { state in
            if state.admitted.contains(sql) { return true }
            guard state.admitted.count < Self.maximumKept else { return false }
            if state.recent.contains(sql) {
                state.admitted.insert(sql)
                return true
            }
            state.remember(sql)
            return false
        }
    }
}
