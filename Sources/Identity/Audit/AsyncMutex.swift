import AdapterKit
import Admission

/// Lets one task at a time through: callers take turns, the tasks of one keep their order, and one caller's take half of the places
/// at most. An actor alone would not do: it lets the next one in at every `await`.
package struct AsyncMutex: Sendable {
    private let queue: AdmissionQueue<AccountQueue<PorticoError>>

    /// `limit`: tasks that wait.
    package init(limit: Int) {
        queue = AdmissionQueue(
            AccountQueue(
                limit: 1, places: limit, share: .half,
                refusal: PorticoError(.overloaded, "Too many changes at once.", retryAfter: 5)))
    }

    /// Throws `server.overloaded` where too many wait already, of all callers or of this one.
    package func pass<Result: Sendable>(_ body: @Sendable () async throws -> Result) async throws -> Result {
        try await queue.run(.current, body)
    }
}
