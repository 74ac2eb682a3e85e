import AdapterKit
import SyncSimulator

/// The other system of a run of writes: its rows, and a ledger of what it made, by the key that each change came with.
struct SimulatedLedger {
    /// How it answers at the time.
    enum Behavior: CaseIterable {
        case well
        /// Connections are refused.
        case down
        /// It says that it is busy, and makes nothing.
        case busy
        /// Requests or answers are lost, or requests come late.
        case lossy
        /// It refuses some changes for good.
        case strict
    }

    let honoursKeys: Bool
    /// Whether a record that is created gets a key of its own there, whatever it was sent.
    let choosesKeys: Bool
    var behavior = Behavior.well
    private(set) var rows: [String: WireDictionary] = [:]
    /// How often the change of each key was made, whether keys are honoured or not.
    private(set) var applied: [String: Int] = [:]
    /// Keys of changes that were refused for good.
    private(set) var refused: Set<String> = []
    private(set) var received = 0
    /// Of the change of a key: which record it was acknowledged for, and where the gateway's log has it.
    var acknowledged: [String: (record: String, position: Int64)] = [:]
    /// Keys of changes that callers learnt were not made.
    var toldNotMade: Set<String> = []
    /// A change that came out of its turn.
    private(set) var violation: Violation?
    private var lastPosition: [String: Int64] = [:]
    private var answers: [String: MirrorWriteResult] = [:]
    private var late: [(change: MirrorChange, name: String)] = []
    private var edits = 0
    private var chosen = 0

    init(honoursKeys: Bool, choosesKeys: Bool) {
        self.honoursKeys = honoursKeys
        self.choosesKeys = choosesKeys
    }

    /// What the gateway learns of a change that it sends. `name`: the change's own key, whatever it is sent with.
    mutating func receive(_ change: MirrorChange, of name: String, _ random: inout SeededRandom) -> MirrorWriteResult {
        received += 1
        switch behavior {
        case .well: return make(change, name)
        case .down: return MirrorWriteResult(UpstreamFailure(.unreachable, of: "hr"))
        case .busy: return .notMade("it answered 503")
        case .strict where answers[change.idempotencyKey] == nil && random.chance(50) && applied[name] == nil:
            return refuse(change, name, .requestInvalid)
        case .strict: return make(change, name)
        case .lossy:
            switch random.below(4) {
            case 0: return make(change, name)
            case 1: break
            case 2: late.append((change, name))
            default: _ = make(change, name)
            }
            return MirrorWriteResult(UpstreamFailure(.timedOut, of: "hr"))
        }
    }

    func read(_ id: RecordID) -> MirrorRecord {
        switch behavior {
        case .down, .busy: .unavailable
        case .well, .lossy, .strict: rows[id.text].map { .found($0) } ?? .absent
        }
    }

    /// Another user of the system changes a row.
    mutating func edit(_ random: inout SeededRandom) {
        edits += 1
        guard let id = random.pick(rows.keys.sorted()) else { return }
        rows[id]?["text"] = .string("e\(edits)")
    }

    /// A request arrives that was lost for its sender.
    mutating func deliverLate(_ random: inout SeededRandom) {
        guard !late.isEmpty else { return }
        let next = late.remove(at: random.below(late.count))
        _ = make(next.change, next.name)
    }

    /// All of one record's (nil: of all) arrive, in their order.
    mutating func deliverLate(of record: String?) {
        let arriving = late.filter { record == nil || $0.change.id.text == record }
        late.removeAll { record == nil || $0.change.id.text == record }
        for next in arriving { _ = make(next.change, next.name) }
    }

    private mutating func refuse(_ change: MirrorChange, _ name: String, _ code: ErrorCode) -> MirrorWriteResult {
        refused.insert(name)
        let answer = MirrorWriteResult.refused(code, "No.")
        if honoursKeys { answers[change.idempotencyKey] = answer }
        return answer
    }

    private mutating func make(_ change: MirrorChange, _ name: String) -> MirrorWriteResult {
        if honoursKeys, let answer = answers[change.idempotencyKey] { return answer }
        var id = change.id.text
        let isNew = change.operation == .create || (change.operation == .replace && change.before == nil)
        if choosesKeys, isNew, rows[id] == nil {
            chosen += 1
            id = "s\(chosen)"
        }
        switch change.operation {
        case .create where rows[id] != nil: return refuse(change, name, .recordConflict)
        case .update where rows[id] == nil: return refuse(change, name, .recordNotFound)
        case .create, .replace:
            rows[id] = change.fields
            rows[id]?["id"] = .string(id)
        case .update: for field in change.fields { rows[id]?[field.key] = field.value }
        case .delete: rows[id] = nil
        }
        applied[name, default: 0] += 1
        // A record whose key is chosen here has two ids until the gateway knows it, and each has an order of its own; the
        // first of them may be another record's later.
        if let (record, place) = acknowledged[name] {
            let known = "\(record) as \(id)"
            if let last = lastPosition[known], place < last {
                violation = violation ?? Violation(3, "\(name) of \(id) is made after a later change")
            }
            lastPosition[known] = max(lastPosition[known] ?? 0, place)
        }
        let answer = MirrorWriteResult.stored(rows[id])
        if honoursKeys { answers[change.idempotencyKey] = answer }
        return answer
    }
}
