import SyncMessages

/// Where a device is with its pulls.
struct PullProgress: Sendable {
    var replica: Replica
    /// The request whose answer is waited for.
    var asked: RequestNumber?
    /// What was asked last, to be asked again where no answer came.
    var request: PullRequest?
    /// Something happened since the pull under way began, or none is.
    var isWanted = false
    /// A wake-up is due before anything is asked again.
    var isWaiting = false
    var failures = 0
}

extension Device {
    public mutating func pulled(_ number: RequestNumber, _ reply: PullReply) -> [DeviceAction] {
        guard pull.asked == number else { return [] }
        pull.asked = nil
        return stepped { $0.receive(reply) }
    }

    private mutating func receive(_ reply: PullReply) {
        switch reply {
        case .page(let page):
            pull.failures = 0
            take(pull.replica.receive(page, over: state.rows))
        case .fetchAgain: startOver()
        case .unauthorized: pauseForSignIn()
        case .unavailable: waitForPull()
        }
    }

    private mutating func take(_ step: Replica.Step) {
        switch step {
        case .ask(let request):
            ask(request)
            if state.rows.kept != nil, let piece = pull.replica.piece { actions.append(.stage(piece)) }
        case .apply(let rows, let completion, let startsOver):
            note(.pulled(JournalEntry.Pulled(rows: rows, completion: completion, startsOver: startsOver)))
            pull.request = nil
            actions.append(.report(.pulled(startedOver: startsOver)))
            startPull()
            startPush()
        case .giveUp(let scopes):
            pull.request = nil
            actions.append(.report(.scopesDisagree(scopes)))
            pull.isWanted = true
            waitForPull()
        }
    }

    mutating func startPull() {
        guard !isPaused, !pull.isWaiting, pull.asked == nil else { return }
        if let request = pull.request { return ask(request) }
        guard pull.isWanted else { return }
        pull.isWanted = false
        ask(pull.replica.begin(from: state.checkpoint, over: state.rows))
    }

    /// The checkpoint is worth nothing any more. The rows stay in sight until there are others.
    mutating func startOver() {
        let hadNone = state.checkpoint == nil
        if state.checkpoint != nil { note(.mustStartOver) }
        pull.request = nil
        pull.asked = nil
        // An answer that is still on its way may tell of the history that is gone; the same mutations go out again.
        push.asked = nil
        pull.isWanted = true
        if hadNone { waitForPull() } else { startPull() }
    }

    private mutating func ask(_ request: PullRequest) {
        let number = nextRequest()
        pull.request = request
        pull.asked = number
        actions.append(.pull(number, request))
    }

    private mutating func waitForPull() {
        pull.isWaiting = true
        actions.append(.wake(after: limits.pause(afterFailures: pull.failures)))
        pull.failures += 1
    }
}
