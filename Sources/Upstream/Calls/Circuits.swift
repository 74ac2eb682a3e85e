import AdapterKit
import Synchronization

/// A ``CircuitBreaker`` for each server, and the log's word when one opens or closes.
final class Circuits: Sendable {
    private let settings: UpstreamSettings
    private let log: Log
    /// Never more than there are configured servers: no other is asked.
    private let breakers = Mutex<[UpstreamOrigin: CircuitBreaker]>([:])

    init(_ settings: UpstreamSettings, log: Log) {
        self.settings = settings
        self.log = log
    }

    /// What `body` returns. `judge` says what that means for the server; an error means what `failed` says of it. Throws
    /// ``UpstreamFailure/Kind/resting`` without having asked where the server rests.
    func through<Result>(
        _ origin: UpstreamOrigin, judge: (Result) -> CircuitBreaker.Outcome,
        failed: (any Error) -> CircuitBreaker.Outcome, _ body: () async throws -> Result
    ) async throws -> Result {
        guard settings.origins.contains(origin) else { return try await body() }
        let passage = try enter(origin)
        do {
            let result = try await body()
            leave(origin, passage, judge(result))
            return result
        } catch {
            leave(origin, passage, failed(error))
            throw error
        }
    }

    private func enter(_ origin: UpstreamOrigin) throws -> CircuitBreaker.Passage {
        let limits = settings.limits
        let passage = breakers.withLock { $0[origin, default: CircuitBreaker(limits)].enter(now: .now) }
        guard let passage else { throw UpstreamFailure(.circuitOpen, of: settings.name, detail: "\(origin) rests") }
        return passage
    }

    private func leave(_ origin: UpstreamOrigin, _ passage: CircuitBreaker.Passage, _ outcome: CircuitBreaker.Outcome) {
        switch breakers.withLock({ $0[origin]?.leave(passage, outcome, now: .now) }) {
        case .opened(let rest):
            log.warning(
                "upstream rests",
                [
                    "upstream": .text(settings.name.text), "server": .text(origin.description),
                    "rest": .text("\(rest)"),
                ])
        case .closed:
            log.info(
                "upstream answers again",
                ["upstream": .text(settings.name.text), "server": .text(origin.description)])
        case nil: break
        }
    }
}
