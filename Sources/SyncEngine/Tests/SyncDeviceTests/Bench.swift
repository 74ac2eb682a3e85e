import SyncDevice
import SyncMessages
import ValueTree

/// A device on the bench: what it asks is kept, what it persists is folded, and the test answers for the server.
struct Bench {
    var device: Device
    private(set) var durable: DeviceState
    private(set) var pulls: [(number: RequestNumber, request: PullRequest)] = []
    private(set) var pushes: [(number: RequestNumber, request: PushRequest)] = []
    private(set) var reports: [DeviceReport] = []
    private(set) var pauses: [Duration] = []
    private let limits: DeviceLimits

    static let note = RecordKey("notes", "n1")

    init(_ limits: DeviceLimits = DeviceLimits()) {
        durable = DeviceState(clientID: "c")
        self.limits = limits
        device = Device(restoring: durable, limits: limits)
    }

    mutating func take(_ actions: [DeviceAction]) {
        for action in actions {
            switch action {
            case .persist(let entry): durable.apply(entry)
            case .pull(let number, let request): pulls.append((number, request))
            case .push(let number, let request): pushes.append((number, request))
            case .stage: break
            case .wake(let pause): pauses.append(pause)
            case .report(let report): reports.append(report)
            }
        }
    }

    mutating func restart() {
        device = Device(restoring: durable, limits: limits)
        (pulls, pushes) = ([], [])
        take(device.sync())
    }

    mutating func edit(_ action: LocalEdit.Action, _ key: RecordKey = note) throws {
        take(try device.edit(LocalEdit(key, action)))
    }

    /// Brings it to a checkpoint that holds these notes.
    mutating func start(with notes: [String: Int64] = [:]) {
        take(device.sync())
        answerPull(Self.complete(notes, put: notes))
    }

    mutating func answerPull(_ page: PullPage) { replyToPull(.page(page)) }

    mutating func replyToPull(_ reply: PullReply) {
        guard let last = pulls.last else { return }
        take(device.pulled(last.number, reply))
    }

    mutating func answerPush(_ outcomes: [MutationOutcome]) {
        replyToPush(.answer(PushResponse(outcomes: outcomes, checkpoint: "later")))
    }

    mutating func replyToPush(_ reply: PushReply) {
        guard let last = pushes.last else { return }
        take(device.pushed(last.number, reply))
    }

    var sent: [Mutation] { pushes.last?.request.mutations ?? [] }

    func text(_ key: RecordKey = note, _ field: String = "a") -> String? {
        device.state[key]?.fields[field]?.stringValue
    }

    static func put(_ id: String, _ rev: Int64, _ fields: WireDictionary = ["a": "server"]) -> RecordOperation {
        RecordOperation(collection: "notes", id: id, rev: rev, kind: .put(RecordFields(fields)))
    }

    /// The end of a pull after which there are these notes and no others.
    static func complete(
        _ notes: [String: Int64], put: [String: Int64] = [:], describing known: CollectionDescription? = nil
    ) -> PullPage {
        var checksum = ScopeChecksum()
        for (id, rev) in notes { checksum.add(collection: "notes", id: id, rev: rev) }
        let position = notes.values.max() ?? 0
        let summary = ScopeSummary(
            scope: "notes", count: checksum.count, checksum: checksum.text, description: known)
        return PullPage(
            operations: put.map { Self.put($0.key, $0.value) },
            ending: .complete(
                PullCompletion(
                    checkpoint: "at-\(position)", position: position, scopes: [summary],
                    description: known.map { "\($0.key) \($0.fields.count)" })))
    }
}
