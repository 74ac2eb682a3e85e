import SyncDevice
import SyncMessages

/// How it stands between this device and the server.
public struct SyncStatus: Sendable, Equatable {
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

    public init() {}
}

/// An edit that the server did not make. It holds up nothing; the record shows what the server has.
public struct SyncProblem: Sendable, Equatable, Identifiable {
    public enum Cause: Sendable, Equatable {
        /// Somebody else changed the record first. This is the server's; nil: it was deleted.
        case conflict(server: Record?)
        /// Not allowed, or not valid; the code of the gateway's registry says why.
        case rejected(code: String)
    }

    /// Names the edit on this device.
    public let id: Int64
    public let collection: String
    public let recordID: String
    public let edit: Edit
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

/// What was done, or is to be done, to one record.
public enum Edit: Sendable, Equatable {
    case create(WireDictionary)
    /// Sets these fields and leaves the others.
    case update(WireDictionary)
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
