import AdapterKit

/// Lets one task at a time through, in the order of arrival. An actor alone would not do: it lets the next one in at
/// every `await`.
package actor AsyncMutex {
    private let limit: Int
    private var isTaken = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    package init(limit: Int) {
        self.limit = limit
    }

    /// Throws `server.overloaded` where too many wait already. A turn is short, so a cancelled task keeps its place and
    /// gives up when it is through.
    package func pass<Result: Sendable>(_ body: @Sendable () async throws -> Result) async throws -> Result {
        try await enter()
        defer { leave() }
        try Task.checkCancellation()
        return try await body()
    }

    private func enter() async throws {
        guard isTaken else {
            isTaken = true
            return
        }
        guard waiting.count < limit else {
            throw PorticoError(.overloaded, "Too many changes at once.", retryAfter: 5)
        }
        await withCheckedContinuation { waiting.append($0) }
    }

    /// The turn goes to the next one directly, so that no newcomer gets in between.
    private func leave() {
        if waiting.isEmpty { isTaken = false } else { waiting.removeFirst().resume() }
    }
}
