import SyncMessages
import ValueTree

/// A device's side of the sync, as one synchronous machine: what happens goes in, what is to be done comes out.
///
/// The caller that runs it carries the actions out in their order. A crash loses what is not persisted, and nothing else: a
/// machine made from the persisted state goes on, and whatever it sends twice has one effect.
public struct Device: Sendable {
    /// The persisted state, as of the last action.
    public internal(set) var state: DeviceState
    let limits: DeviceLimits
    var pull: PullProgress
    var push = DevicePushProgress()
    private var lastRequest = 0
    /// Until the app has signed in again.
    public internal(set) var isPaused = false
    var actions: [DeviceAction] = []

    /// Goes on from a persisted state.
    public init(restoring state: DeviceState, limits: DeviceLimits = DeviceLimits()) {
        self.state = state
        self.limits = limits
        pull = PullProgress(replica: PendingPull(limits: limits))
    }

    /// Takes an edit, lays it over the replica and sends it when it can.
    public mutating func edit(_ edit: LocalEdit) throws(EditError) -> [DeviceAction] {
        guard state.outbox.pending.count < limits.pendingEdits else { throw .outboxFull }
        let exists = state[edit.key] != nil
        if edit.operation == .create, exists { throw .recordExists }
        if edit.operation != .create, !exists { throw .recordNotFound }
        try check(edit)
        note(.edited(state.outbox.draft(edit, on: state.rows[edit.key])))
        return stepped { $0.startPush() }
    }

    /// Finds what the server would refuse of an edit, as far as the device knows the collections. A device that is
    /// narrowed to some knows no others, and accepts any edit of them.
    public func check(_ edit: LocalEdit) throws(EditError) {
        guard let known = state.known, let fields = edit.fields else { return }
        guard let description = known[edit.key.collection] else {
            if limits.collections == nil { throw .unknownCollection }
            return
        }
        for name in fields.keys where description.fields[name] == nil { throw .unknownField(name) }
        let needsNumber = edit.operation == .create && description.fields[description.key] == "integer"
        if needsNumber, Int64(edit.key.id) == nil { throw .idNotANumber }
        guard let id = description.id(in: fields), id != edit.key.id else { return }
        throw .keyDiffers(description.key)
    }

    /// Brings the device up to date: to be called at the start, when the network is back, on a live event, now and then.
    public mutating func sync() -> [DeviceAction] {
        stepped {
            $0.pull.isWanted = true
            $0.startPull()
            $0.startPush()
        }
    }

    /// The time of a ``DeviceAction/wake(after:)`` is over.
    public mutating func wake() -> [DeviceAction] {
        stepped {
            $0.pull.isWaiting = false
            $0.push.isWaiting = false
            $0.startPull()
            $0.startPush()
        }
    }

    /// There are new credentials. What was asked with the old ones is asked again: its answers are worth nothing now.
    public mutating func signedIn() -> [DeviceAction] {
        isPaused = false
        pull.asked = nil
        push.asked = nil
        return sync()
    }

    /// Notes that ``PersistedRows`` have stored everything up to the last entry that was to be persisted.
    public mutating func rowsAreStored() {
        state.forgetStoredRows()
    }

    /// The piece of the last ``DeviceAction/stage(_:)`` is where the rows are kept.
    public mutating func pieceIsStaged() {
        guard let kept = state.rows.kept else { return }
        pull.replica.areStaged(by: kept)
    }

    /// Ends a conflict or a rejection: `edit` is what the app wants instead, made on the server's copy; nil: nothing.
    public mutating func resolve(_ number: Int64, with edit: LocalEdit?) -> [DeviceAction] {
        guard let found = state.outbox.setAside.first(where: { $0.pending.number == number }) else { return [] }
        var row = state.rows[found.pending.edit.key]
        if case .conflict(let copy) = found.cause { row = copy }
        note(.resolved(number, edit.map { state.outbox.draft($0, on: row) }))
        return stepped { $0.startPush() }
    }
}

extension Device {
    /// Changes the state by what is made durable, and by nothing else.
    mutating func note(_ entry: JournalEntry) {
        state.apply(entry)
        actions.append(.persist(entry))
    }

    mutating func nextRequest() -> RequestNumber {
        lastRequest += 1
        return RequestNumber(lastRequest)
    }

    mutating func pauseForSignIn() {
        guard !isPaused else { return }
        isPaused = true
        actions.append(.report(.signInNeeded))
    }

    mutating func stepped(_ step: (inout Device) -> Void) -> [DeviceAction] {
        step(&self)
        defer { actions = [] }
        return actions
    }
}

/// Where a device is with its pulls.
struct PullProgress: Sendable {
    var replica: PendingPull
    /// The request whose answer is waited for.
    var asked: RequestNumber?
    /// The last request, to be sent again where no answer came.
    var request: PullRequest?
    /// Something happened since the pull under way began, or none is.
    var isWanted = false
    /// A wake-up is due before anything is asked again.
    var isWaiting = false
    var failures = 0
}

extension Device {
    /// The answer to a ``DeviceAction/pull(_:_:)``; one that is no longer awaited is ignored.
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

    private mutating func take(_ step: PendingPull.Step) {
        switch step {
        case .ask(let request):
            ask(request)
            if state.rows.kept != nil, let piece = pull.replica.piece { actions.append(.stage(piece)) }
        case .apply(let rows, let completion, let startsOver, let moves):
            note(
                .pulled(JournalEntry.Pulled(rows: rows, completion: completion, startsOver: startsOver, moves: moves)))
            pull.request = nil
            if !moves.isEmpty { actions.append(.report(.moved(moves))) }
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
        ask(pull.replica.begin(from: state.checkpoint, over: state.rows, knowing: state.known?.description))
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

    private mutating func ask(_ wanted: PullRequest) {
        let number = nextRequest()
        var request = wanted
        request.clientID = state.clientID
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

/// Where a device is with its pushes: one batch at a time.
struct DevicePushProgress: Sendable {
    /// The request whose answer is waited for.
    var asked: RequestNumber?
    var sent: [Int64] = []
    /// Mutations in the next batch, where refusals made it less than the limit.
    var narrowed: Int?
    var isWaiting = false
    var failures = 0
}

extension Device {
    /// The answer to a ``DeviceAction/push(_:_:)``; one that is no longer awaited is ignored.
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
        if outcomes.count < push.sent.count {
            return waitForPush(atLeast: .seconds(answer.outcomes.compactMap(\.retryAfter).max() ?? 0))
        }
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

    private mutating func waitForPush(atLeast pause: Duration = .zero) {
        push.isWaiting = true
        // A server that means days is not believed.
        let asked = min(pause, .seconds(600))
        actions.append(.wake(after: max(limits.pause(afterFailures: push.failures), asked)))
        push.failures += 1
    }
}
