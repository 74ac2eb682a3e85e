import SyncDevice
import SyncMessages

/// The state between this device and the server.
public struct SyncStatus: Sendable, Equatable {
    /// A phase of the sync.
    public enum Phase: Sendable, Equatable {
        /// Nothing is under way, and nothing has to be.
        case idle
        /// A pull or a push is under way.
        case working
        /// The last try got no answer; another one comes by itself.
        case waiting
        /// The sign-in has ended. Nothing is sent, and nothing is dropped, until there is another.
        case signInNeeded
        /// ``Replica/close()`` was called.
        case closed
    }

    /// The present phase of the sync.
    public var phase: Phase = .idle
    /// Records that the pull under way has brought; the server does not say how many there will be. Nil while none is.
    public var received: Int?
    /// Whether one pull was ever completed: before it, an empty list says nothing.
    public var hasSynced = false
    /// Edits that wait for the server's answer.
    public var waiting = 0
    /// Edits that the server did not make, until ``Replica/resolve(_:with:)``.
    public var problems: [SyncProblem] = []
    /// Why the last try got no answer; nil after one that did.
    public var lastError: ClientError?

    /// The defaults.
    public init() {}
}

/// A record that has another id from now on.
public struct MovedRecord: Sendable, Equatable {
    /// The record's collection.
    public let collection: String
    /// The id that it had.
    public let id: String
    /// The id that it has.
    public let movedTo: String

    /// Problems of a replica that are kept, the latest.
    static let mostKept = 1_000
}

/// An edit that the server did not make. It holds up nothing; the record shows what the server has.
public struct SyncProblem: Sendable, Equatable, Identifiable {
    /// Why the edit was not made.
    public enum Cause: Sendable, Equatable {
        /// Another client changed the record first. This is the server's; nil: it was deleted.
        case conflict(server: Record?)
        /// Not allowed, or not valid; the code of the gateway's registry says why.
        case rejected(code: String)
    }

    /// Names the edit on this device.
    public let id: Int64
    /// The record's collection.
    public let collection: String
    /// The record's id.
    public let recordID: String
    /// The edit as the app made it.
    public let edit: Edit
    /// Why it was not made.
    public let cause: Cause
    /// The record on which the edit was made; nil where it was a new one.
    public let base: Record?

    init(_ found: SetAsideEdit) {
        let key = found.pending.edit.key
        id = found.pending.number
        (collection, recordID) = (key.collection, key.id)
        edit = Edit(found.pending.edit.action)
        base = found.pending.base.map { Record($0, in: key.collection) }
        cause =
            switch found.cause {
            case .conflict(let copy): .conflict(server: copy.map { Record($0, in: key.collection) })
            case .rejected: .rejected(code: found.reason ?? "")
            }
    }
}

/// A change that was made, or is to be made, to one record.
public enum Edit: Sendable, Equatable {
    /// Creates the record with these fields.
    case create(WireDictionary)
    /// Sets these fields and leaves the others.
    case update(WireDictionary)
    /// Deletes the record.
    case delete

    init(_ action: LocalEdit.Action) {
        self =
            switch action {
            case .create(let fields): .create(fields)
            case .update(let fields): .update(fields)
            case .delete: .delete
            }
    }

    var action: LocalEdit.Action {
        switch self {
        case .create(let fields): .create(fields)
        case .update(let fields): .update(fields)
        case .delete: .delete
        }
    }
}

extension PushReply {
    /// The records whose edits the reply settles.
    func settledKeys(in outbox: Outbox) -> Set<RecordKey> {
        switch self {
        case .answer(let answer):
            let sequences = Set(answer.outcomes.map(\.sequence))
            return Set(outbox.pending.filter { $0.sequence.map(sequences.contains) ?? false }.map(\.edit.key))
        case .refused: return outbox.touchedKeys
        default: return []
        }
    }
}

/// Limits of a replica's work at once. Each has a default that suits a phone.
public struct SyncLimits: Sendable, Equatable {
    /// Records in one page of a pull.
    public var page = 2_000
    /// Records that a pull gathers in memory; more are staged in the replica's file until the pull is complete.
    public var gathered = 2_000
    /// Edits in one push.
    public var batch = 100
    /// Edits that may wait for the server; one more is ``ClientError/outboxFull``.
    public var waitingEdits = 10_000
    /// The first pause after a try that got no answer, and the longest; it doubles in between.
    public var pauses: ClosedRange<Duration> = .seconds(1)...(.seconds(300))
    /// For one page or one batch.
    public var deadline: Duration = .seconds(60)
    /// Bytes of one page.
    public var largestAnswer = 64 << 20
    /// The time for which one question for changes is left open.
    public var livePoll: Duration = .seconds(25)
    /// The longest silence on a live stream, and until it begins; the gateway says something after
    /// `sync.live.heartbeat` (25 s).
    public var liveSilence: Duration = .seconds(60)
    /// Bytes of one attachment, and of one piece of it on its way.
    public var largestAttachment = 256 << 20
    /// Bytes of an attachment in one request.
    public var attachmentPiece = 1 << 20

    /// The defaults.
    public init() {}

    func device(_ collections: [String]?) -> DeviceLimits {
        DeviceLimits(
            collections: collections, pageOperations: page, gatheredRecords: gathered, batchMutations: batch,
            pendingEdits: waitingEdits, pauses: pauses)
    }
}
