import AdapterKit
import Synchronization

/// One request that was sent, until its answer is complete: what it holds meanwhile, and what its end says about the
/// server.
final class CallAttempt: Sendable {
    private struct Held {
        let circuit: CircuitBreakers.Passage
        let permit: CallPermit
        let lease: Connections.Lease
    }

    private let held: Mutex<Held?>
    /// The meaning of a complete answer for the server.
    private let outcome: CircuitBreaker.Outcome

    init(
        _ circuit: CircuitBreakers.Passage, _ permit: CallPermit, _ lease: Connections.Lease,
        outcome: CircuitBreaker.Outcome
    ) {
        held = Mutex(Held(circuit: circuit, permit: permit, lease: lease))
        self.outcome = outcome
    }

    /// The caller did not read on; a server that answered with an error failed all the same.
    deinit { end(with: outcome == .failed ? .failed : .unknown) }

    /// The answer is complete.
    func finish() {
        end(with: outcome)
    }

    /// The answer broke off.
    func finish(_ failure: UpstreamFailure) {
        end(with: CallPlan.circuitOutcome(.failed(failure, wasSent: true)))
    }

    private func end(with outcome: CircuitBreaker.Outcome) {
        let held = held.withLock { held in
            defer { held = nil }
            return held
        }
        held?.circuit.leave(outcome)
    }
}
