import SyncMessages
import ValueTree

/// An outbox as one value, for a snapshot. What is written by one version is read by every later one: members that are
/// not known are passed over, and new ones may be missing.
extension Outbox {
    public init(from value: WireValue) throws(MessageError) {
        lastNumber = try value.integer("lastNumber")
        lastSequence = try value.integer("lastSequence")
        pending = try value.list("pending", PendingEdit.init(from:))
        acknowledged = try value.list("acknowledged", AcknowledgedEdit.init(from:))
        setAside = try value.list("setAside", SetAsideEdit.init(from:))
    }

    public var wireValue: WireValue {
        [
            "lastNumber": .int64(lastNumber), "lastSequence": .int64(lastSequence),
            "pending": .array(pending.map(\.wireValue)), "acknowledged": .array(acknowledged.map(\.wireValue)),
            "setAside": .array(setAside.map(\.wireValue)),
        ]
    }
}

extension LocalEdit {
    init(from value: WireValue) throws(MessageError) {
        let key = RecordKey(try value.text("collection"), try value.text("id"))
        let fields = try value.optionalFields("fields") ?? [:]
        switch try value.text("operation") {
        case Mutation.Operation.create.rawValue: self.init(key, .create(fields))
        case Mutation.Operation.update.rawValue: self.init(key, .update(fields))
        case Mutation.Operation.delete.rawValue: self.init(key, .delete)
        default: throw MessageError("operation", expected: "create, update or delete")
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
    init(from value: WireValue) throws(MessageError) {
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
    init(from value: WireValue) throws(MessageError) {
        self.init(edit: try LocalEdit(from: value.member("edit") ?? .null), rev: try value.integer("rev"))
    }

    var wireValue: WireValue { ["edit": edit.wireValue, "rev": .int64(rev)] }
}

extension SetAsideEdit {
    init(from value: WireValue) throws(MessageError) {
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
    fileprivate static func optional(_ value: WireValue?) throws(MessageError) -> RecordCopy? {
        guard let value else { return nil }
        return try RecordCopy(from: value)
    }
}
