import SyncMessages
import ValueTree

/// A change of one record that the app wants.
public struct LocalEdit: Sendable, Equatable {
    /// The change that the edit makes.
    public enum Action: Sendable, Equatable {
        /// Creates the record with these fields.
        case create(WireDictionary)
        /// Sets the named fields, leaves the others.
        case update(WireDictionary)
        /// Deletes the record.
        case delete
    }

    /// The record.
    public let key: RecordKey
    /// The change that the edit makes.
    public let action: Action

    /// An edit of one record.
    public init(_ key: RecordKey, _ action: Action) {
        self.key = key
        self.action = action
    }

    /// Nil for a deletion.
    public var fields: WireDictionary? {
        switch action {
        case .create(let fields), .update(let fields): fields
        case .delete: nil
        }
    }

    var operation: Mutation.Operation {
        switch action {
        case .create: .create
        case .update: .update
        case .delete: .delete
        }
    }

    /// The record with this edit laid over it; it keeps the revision that it had.
    func applied(to record: RecordCopy?) -> RecordCopy? {
        switch action {
        case .create(let fields): RecordCopy(id: key.id, rev: record?.rev ?? 0, fields: fields)
        case .update(let fields):
            record.map { RecordCopy(id: $0.id, rev: $0.rev, fields: $0.fields.merging(fields)) }
        case .delete: nil
        }
    }
}

/// Why an edit was not taken. The outbox stays as it was.
public enum EditError: Error, Sendable, Equatable {
    /// There is a record of that id already.
    case recordExists
    /// There is no record of that id.
    case recordNotFound
    /// ``DeviceLimits/pendingEdits`` are waiting already.
    case outboxFull
    /// The account has no such collection, as of the last pull.
    case unknownCollection
    /// The collection has no field of that name, as of the last pull.
    case unknownField(String)
    /// The key field, of that name, has another value than the record's id.
    case keyDiffers(String)
    /// The collection's ids are 64-bit integers, and the new record's is none.
    case idNotANumber
}

/// An edit that waits for its outcome.
public struct PendingEdit: Sendable, Equatable {
    /// Names the edit on this device, in the order in which they were made.
    public let number: Int64
    /// The edit as the app made it.
    public let edit: LocalEdit
    /// The server's record that the edit was made on, as far as the device knew it.
    public internal(set) var base: RecordCopy?
    /// The base that the push names. It may be older than ``base`` is: what others changed in between must be
    /// found as a conflict.
    public internal(set) var baseRev: Int64?
    /// Given when the edit is sent for the first time, and never changed: what makes a repetition harmless.
    public internal(set) var sequence: Int64?

    var mutation: Mutation? {
        sequence.map {
            Mutation(
                sequence: $0, operation: edit.operation, collection: edit.key.collection, id: edit.key.id,
                baseRev: edit.operation == .create ? nil : baseRev, fields: edit.fields)
        }
    }
}

/// An edit that the server made, but that no applied checkpoint contains yet.
public struct AcknowledgedEdit: Sendable, Equatable {
    /// The edit as the app made it.
    public let edit: LocalEdit
    /// The record's revision after it.
    public let rev: Int64
}

/// An edit that the server did not make. It blocks nothing, and stays until the app resolves it.
public struct SetAsideEdit: Sendable, Equatable {
    /// Why the server did not make the edit.
    public enum Cause: Sendable, Equatable {
        /// The server's copy, nil where the record is gone.
        case conflict(RecordCopy?)
        /// The server refused it for good.
        case rejected
    }

    /// The edit.
    public let pending: PendingEdit
    /// Why the server did not make it.
    public let cause: Cause
    /// A code of the error registry; nil where the server gave none.
    public let reason: String?
}
