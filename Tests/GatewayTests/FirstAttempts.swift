@testable import Gateway

extension AdapterSupervisor {
    /// Returns when each of its first adapters runs or has failed; what has failed is not attempted again.
    func firstAttempts() async {
        let attempts = Task { await run() }
        await waitUntilSettled()
        attempts.cancel()
        await attempts.value
    }
}
