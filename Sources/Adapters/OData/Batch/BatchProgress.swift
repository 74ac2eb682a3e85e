import AdapterKit

/// How far a batch has come: what was created, and what has failed.
struct BatchProgress {
    var addresses: BatchAddresses
    private var failed: Set<String> = []
    private(set) var hasFailed = false

    init(addresses: BatchAddresses) {
        self.addresses = addresses
    }

    func canRun(_ call: BatchCall) -> Bool { failed.isDisjoint(with: call.needs) }

    mutating func ended(_ id: String?, failed isFailed: Bool) {
        guard isFailed else { return }
        hasFailed = true
        if let id { failed.insert(id) }
    }

    /// A step that cannot run because of another's failure; those that need it cannot either.
    mutating func failing(_ step: BatchStep) -> BatchOutcome {
        switch step {
        case .call(let call): ended(call.id, failed: true)
        case .changeSet(let group, let calls): for id in calls.map(\.id) + [group] { ended(id, failed: true) }
        }
        return Self.skipped(step)
    }

    static func skipped(_ step: BatchStep) -> BatchOutcome {
        switch step {
        case .call(let call): return .reply(BatchReply(id: call.id, answer: BatchFailure.dependency))
        case .changeSet(let group, let calls):
            return .failedSet(
                calls.map { BatchReply(id: $0.id, group: group, answer: BatchFailure.dependency) }, failed: 0)
        }
    }
}
