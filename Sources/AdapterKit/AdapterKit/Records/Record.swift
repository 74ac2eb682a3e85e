/// One record as the store has it.
public struct Record: Sendable, Equatable {
    /// The id within the entity.
    public let id: RecordID
    /// The operation id of the last change.
    public let revision: Revision
    /// All fields that hold a value or null, the key's too, in declared order.
    public let fields: WireDictionary

    /// Creates a record with these values.
    public init(id: RecordID, revision: Revision, fields: WireDictionary) {
        self.id = id
        self.revision = revision
        self.fields = fields
    }

    /// The field's value; null where there is none.
    public subscript(field: FieldName) -> WireValue {
        fields[field.text] ?? .null
    }
}

/// The store's operation id of a record's last change. It only grows, so a later state has a larger revision.
public struct Revision: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The operation id.
    public let number: Int64

    /// Creates a revision with these values.
    public init(_ number: Int64) {
        self.number = number
    }

    public var description: String { String(number) }

    public static func < (left: Revision, right: Revision) -> Bool { left.number < right.number }
}

extension RecordID {
    /// The id of the record with this key: a text as it is, an integer's decimal text. Nil for a value that can be no key.
    public init?(key value: WireValue) {
        switch value {
        case .string(let text): self.init(text)
        case .int64(let number): self.init(unchecked: String(number))
        default: return nil
        }
    }
}

/// One change of one record; several go together in one transaction.
public struct RecordChange: Sendable, Equatable {
    /// An action on a record.
    public enum Action: Sendable, Equatable {
        /// Refused with `record.exists` where the id is taken. Nil: the server chooses.
        case create(RecordID?, WireDictionary)
        /// Sets the named fields, leaves the others.
        case update(RecordID, WireDictionary)
        /// Sets every field, those not named to their default or null; creates the record where `orCreate`.
        case replace(RecordID, WireDictionary, orCreate: Bool)
        /// Deletes the record and those that belong to it.
        case delete(RecordID)
    }

    /// The entity of the record.
    public let entity: EntityName
    /// The action on the record.
    public let action: Action
    /// The condition under which the change is made.
    public let condition: Condition

    /// A condition that the record must meet for the change to be made.
    public enum Condition: Sendable, Equatable {
        /// Nothing.
        case none
        /// The record has this revision; otherwise `precondition.failed`.
        case revision(Revision)
        /// The record is there, at whatever revision.
        case exists
        /// The record is not there.
        case absent
    }

    /// Creates a record change with these values.
    public init(_ entity: EntityName, _ action: Action, if condition: Condition = .none) {
        self.entity = entity
        self.action = action
        self.condition = condition
    }
}

/// The result of a transaction, once it is durable.
public struct WriteReceipt: Sendable, Equatable {
    /// The operation id of the transaction's last change: the log position that contains it.
    public let position: Revision
    /// One for each change, in order: the record afterwards, nil where it was deleted.
    public let records: [Record?]

    /// Creates a write receipt with these values.
    public init(position: Revision, records: [Record?]) {
        self.position = position
        self.records = records
    }
}
