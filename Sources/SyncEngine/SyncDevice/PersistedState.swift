import SyncMessages
import ValueTree

/// Rows that a device does not hold in memory: a database has them, as of the last entry that it stored.
///
/// Apart from them it has what is staged (``DeviceAction/stage(_:)``): pieces of a pull that is not complete. No caller but
/// the device sees those, and a crash may lose them.
///
/// Where something cannot be read, it answers as if nothing were there and remembers that it failed; the caller that runs the
/// device looks for that after each step, throws the step away and makes a new device from what is stored.
public protocol PersistedRows: AnyObject, Sendable {
    /// The server's record; nil where it is not there.
    func record(_ key: RecordKey) -> RecordCopy?
    /// The record's revision; nil where it is not there.
    func revision(_ key: RecordKey) -> Int64?
    /// In no particular order.
    func records(of collection: String) -> [RecordCopy]
    /// The checksum of each collection that has records.
    func checksums() -> [String: ScopeChecksum]

    /// The staged state of the record; nil: nothing is staged; a nil in it: it goes.
    func staged(_ key: RecordKey) -> RecordCopy??
    /// The revision of ``staged(_:)``.
    func stagedRevision(_ key: RecordKey) -> Int64??
    /// All that is staged of a collection; nil: the record goes.
    func staged(of collection: String) -> [RecordKey: RecordCopy?]
}

/// A journal's entry as one value. A pull has none: its rows go where rows are kept, together with a snapshot.
extension JournalEntry {
    /// Nil of ``pulled(_:)``.
    public var wireValue: WireValue? {
        switch self {
        case .edited(let edit): ["edited": edit.wireValue]
        case .sending(let numbers): ["sending": .array(numbers.map(WireValue.int64))]
        case .settled(let outcomes): ["settled": .array(outcomes.map(\.wireValue))]
        case .resolved(let number, let edit):
            .dictionary(WireDictionary(present: [("resolved", .int64(number)), ("edit", edit?.wireValue)]))
        case .mustStartOver: ["mustStartOver": true]
        case .pulled: nil
        }
    }

    /// Reads what ``wireValue`` wrote.
    public init(from value: WireValue) throws(SyncMessageError) {
        if let edit = value.member("edited") {
            self = .edited(try PendingEdit(from: edit))
        } else if value.member("sending") != nil {
            self = .sending(try value.integers("sending"))
        } else if value.member("settled") != nil {
            self = .settled(try value.list("settled", MutationOutcome.init(from:)))
        } else if let number = try value.optionalInteger("resolved") {
            self = .resolved(number, try Self.edit(value.member("edit")))
        } else if value.member("mustStartOver") != nil {
            self = .mustStartOver
        } else {
            throw SyncMessageError("entry", expected: "an entry of a device's journal")
        }
    }

    private static func edit(_ value: WireValue?) throws(SyncMessageError) -> PendingEdit? {
        guard let value else { return nil }
        return try PendingEdit(from: value)
    }
}

extension WireValue {
    fileprivate func integers(_ name: String) throws(SyncMessageError) -> [Int64] {
        try list(name) { (item) throws(SyncMessageError) in
            guard let number = item.int64Value else { throw SyncMessageError(name, expected: "a list of integers") }
            return number
        }
    }
}

/// An outbox as one value, for a snapshot. What is written by one version is read by every later one: members that are
/// not known are passed over, and new ones may be missing.
extension Outbox {
    /// Reads what ``wireValue`` wrote.
    public init(from value: WireValue) throws(SyncMessageError) {
        lastNumber = try value.integer("lastNumber")
        lastSequence = try value.integer("lastSequence")
        pending = try value.list("pending", PendingEdit.init(from:))
        acknowledged = try value.list("acknowledged", AcknowledgedEdit.init(from:))
        setAside = try value.list("setAside", SetAsideEdit.init(from:))
    }

    /// As a value tree, for a file.
    public var wireValue: WireValue {
        [
            "lastNumber": .int64(lastNumber), "lastSequence": .int64(lastSequence),
            "pending": .array(pending.map(\.wireValue)), "acknowledged": .array(acknowledged.map(\.wireValue)),
            "setAside": .array(setAside.map(\.wireValue)),
        ]
    }
}

extension LocalEdit {
    init(from value: WireValue) throws(SyncMessageError) {
        let key = RecordKey(try value.text("collection"), try value.text("id"))
        let fields = try value.optionalFields("fields") ?? [:]
        switch try value.text("operation") {
        case Mutation.Operation.create.rawValue: self.init(key, .create(fields))
        case Mutation.Operation.update.rawValue: self.init(key, .update(fields))
        case Mutation.Operation.delete.rawValue: self.init(key, .delete)
        default: throw SyncMessageError("operation", expected: "create, update or delete")
        }
    }

    var wireValue: WireValue {
        .dictionary(
            WireDictionary(present: [
                ("collection", .string(key.collection)), ("id", .string(key.id)),
                ("operation", .string(operation.rawValue)), ("fields", fields.map(WireValue.dictionary)),
            ]))
    }
}

extension PendingEdit {
    init(from value: WireValue) throws(SyncMessageError) {
        self.init(
            number: try value.integer("number"), edit: try LocalEdit(from: value.member("edit") ?? .null),
            base: try RecordCopy.optional(value.member("base")), baseRev: try value.optionalInteger("baseRev"),
            sequence: try value.optionalInteger("sequence"))
    }

    var wireValue: WireValue {
        .dictionary(
            WireDictionary(present: [
                ("number", .int64(number)), ("edit", edit.wireValue), ("base", base?.wireValue),
                ("baseRev", baseRev.map(WireValue.int64)), ("sequence", sequence.map(WireValue.int64)),
            ]))
    }
}

extension AcknowledgedEdit {
    init(from value: WireValue) throws(SyncMessageError) {
        self.init(edit: try LocalEdit(from: value.member("edit") ?? .null), rev: try value.integer("rev"))
    }

    var wireValue: WireValue { ["edit": edit.wireValue, "rev": .int64(rev)] }
}

extension SetAsideEdit {
    init(from value: WireValue) throws(SyncMessageError) {
        let record = try RecordCopy.optional(value.member("record"))
        self.init(
            pending: try PendingEdit(from: value.member("pending") ?? .null),
            cause: try value.text("cause") == "conflict" ? .conflict(record) : .rejected,
            reason: try value.optionalText("reason"))
    }

    var wireValue: WireValue {
        let (name, record): (String, RecordCopy?) =
            switch cause {
            case .conflict(let record): ("conflict", record)
            case .rejected: ("rejected", nil)
            }
        return .dictionary(
            WireDictionary(present: [
                ("pending", pending.wireValue), ("cause", .string(name)), ("record", record?.wireValue),
                ("reason", reason.map(WireValue.string)),
            ]))
    }
}

extension RecordCopy {
    fileprivate static func optional(_ value: WireValue?) throws(SyncMessageError) -> RecordCopy? {
        guard let value else { return nil }
        return try RecordCopy(from: value)
    }
}
