import SyncMessages
import ValueTree

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

    public init(from value: WireValue) throws(MessageError) {
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
            throw MessageError("entry", expected: "an entry of a device's journal")
        }
    }

    private static func edit(_ value: WireValue?) throws(MessageError) -> PendingEdit? {
        guard let value else { return nil }
        return try PendingEdit(from: value)
    }
}

extension WireValue {
    fileprivate func integers(_ name: String) throws(MessageError) -> [Int64] {
        try list(name) { (item) throws(MessageError) in
            guard let number = item.int64Value else { throw MessageError(name, expected: "a list of integers") }
            return number
        }
    }
}
