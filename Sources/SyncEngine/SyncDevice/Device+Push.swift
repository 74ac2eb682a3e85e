import SyncMessages

/// Where a device is with its pushes: one batch at a time.
struct PushProgress: Sendable {
    /// The request whose answer is waited for.
    var asked: RequestNumber?
    var sent: [Int64] = []
    /// Mutations in the next batch, where refusals made it less than the limit.
    var narrowed: Int?
    var isWaiting = false
    var failures = 0
}

extension Device {
    public mutating func pushed(_ number: RequestNumber, _ reply: PushReply) -> [DeviceAction] {
        guard push.asked == number else { return [] }
        push.asked = nil
        return stepped { $0.receive(reply) }
    }

    private mutating func receive(_ reply: PushReply) {
        switch reply {
        case .answer(let answer): settle(answer)
        case .fetchAgain: startOver()
        case .unauthorized: pauseForSignIn()
        case .unavailable: waitForPush()
        case .refused(let reason): narrow(reason)
        }
    }

    private mutating func settle(_ answer: PushResponse) {
        let numbers = numbersBySequence()
        let outcomes = answer.outcomes.filter { $0.verdict != .retry && numbers[$0.sequence] != nil }
        push.narrowed = nil
        if !outcomes.isEmpty {
            note(.settled(outcomes))
            pull.isWanted = true
        }
        for outcome in outcomes {
            if let number = numbers[outcome.sequence] { actions.append(.report(.settled(number, outcome))) }
        }
        // What was sent and has no outcome is to be sent again, but not at once.
        if outcomes.count < push.sent.count { return waitForPush() }
        push.failures = 0
        startPush()
        startPull()
    }

    private func numbersBySequence() -> [Int64: Int64] {
        Dictionary(
            state.outbox.pending.compactMap { edit in edit.sequence.map { ($0, edit.number) } },
            uniquingKeysWith: { first, _ in first })
    }

    /// Finds the mutation that a batch is refused for by sending fewer, and sets it aside, so that it blocks nothing.
    private mutating func narrow(_ reason: String) {
        actions.append(.report(.pushRefused(reason)))
        guard push.sent.count <= 1 else {
            push.narrowed = push.sent.count / 2
            return startPush()
        }
        push.narrowed = nil
        let refused = state.outbox.mutations(push.sent).map {
            MutationOutcome(sequence: $0.sequence, verdict: .rejected, reason: reason)
        }
        note(.settled(refused))
        startPush()
    }

    /// Base revisions need the history that they belong to, so nothing is sent without a checkpoint.
    mutating func startPush() {
        guard !isPaused, !push.isWaiting, push.asked == nil, let checkpoint = state.checkpoint else { return }
        let numbers = state.outbox.batch(limit: min(push.narrowed ?? .max, limits.batchMutations))
        guard !numbers.isEmpty else { return }
        if state.outbox.mutations(numbers).count < numbers.count { note(.sending(numbers)) }
        let number = nextRequest()
        push.asked = number
        push.sent = numbers
        let mutations = state.outbox.mutations(numbers)
        actions.append(
            .push(number, PushRequest(clientID: state.clientID, checkpoint: checkpoint, mutations: mutations)))
    }

    private mutating func waitForPush() {
        push.isWaiting = true
        actions.append(.wake(after: limits.pause(afterFailures: push.failures)))
        push.failures += 1
    }
}
