import AdapterKit

extension Revision: MessageValue {
    public var message: WireValue { .int64(number) }
    public init(message: WireValue) throws { self.init(try Int64(message: message)) }
}

extension Record: MessageValue {
    public var message: WireValue {
        .map(("id", id.message), ("revision", revision.message), ("fields", .dictionary(fields)))
    }

    public init(message: WireValue) throws {
        let map = try MessageMap(message)
        self.init(id: try map("id"), revision: try map("revision"), fields: try map("fields"))
    }
}

extension RecordChange: MessageValue {
    public var message: WireValue {
        .map(
            ("entity", entity.message), ("action", action.message),
            ("condition", condition == .none ? nil : condition.message))
    }

    public init(message: WireValue) throws {
        let map = try MessageMap(message)
        self.init(try map("entity"), try map("action"), if: try map("condition", default: .none))
    }
}

extension RecordChange.Action: MessageValue {
    public var message: WireValue {
        switch self {
        case .create(let id, let fields): .named("create", .map(("id", id?.message), ("fields", fields.message)))
        case .update(let id, let fields): .named("update", .map(("id", id.message), ("fields", fields.message)))
        case .replace(let id, let fields, let orCreate):
            .named("replace", .map(("id", id.message), ("fields", fields.message), ("orCreate", orCreate.message)))
        case .delete(let id): .named("delete", id.message)
        }
    }

    public init(message: WireValue) throws {
        let one = try MessageCase(message)
        switch one.name {
        case "create": self = .create(try one.map.optional("id"), try one.map("fields"))
        case "update": self = .update(try one.map("id"), try one.map("fields"))
        case "replace":
            self = .replace(try one.map("id"), try one.map("fields"), orCreate: try one.map("orCreate"))
        case "delete": self = .delete(try one.value())
        default: throw one.unknown
        }
    }
}

extension RecordChange.Condition: MessageValue {
    public var message: WireValue {
        switch self {
        case .none: "none"
        case .revision(let revision): .named("revision", revision.message)
        case .exists: "exists"
        case .absent: "absent"
        }
    }

    public init(message: WireValue) throws {
        let one = try MessageCase(message)
        switch one.name {
        case "none": self = .none
        case "revision": self = .revision(try one.value())
        case "exists": self = .exists
        case "absent": self = .absent
        default: throw one.unknown
        }
    }
}

extension WriteReceipt: MessageValue {
    public var message: WireValue { .map(("position", position.message), ("records", records.message)) }

    public init(message: WireValue) throws {
        let map = try MessageMap(message)
        self.init(position: try map("position"), records: try map("records"))
    }
}

extension Query: MessageValue {
    public var message: WireValue {
        .map(
            ("filter", filter?.message), ("order", order.message), ("limit", limit.message), ("start", start.message),
            ("countsAll", countsAll.message))
    }

    public init(message: WireValue) throws {
        let map = try MessageMap(message)
        self.init(
            try map.optional("filter"), order: try map("order", default: []), limit: try map("limit", default: 100),
            start: try map("start", default: .first), countsAll: try map("countsAll", default: false))
        guard (1...Self.maximumLimit).contains(limit) else {
            throw MessageError("a page has 1 to \(Self.maximumLimit) records", at: "limit")
        }
    }
}

extension Query.Start: MessageValue {
    public var message: WireValue {
        switch self {
        case .first: "first"
        case .after(let cursor): .named("after", cursor.message)
        case .offset(let count): .named("offset", count.message)
        }
    }

    public init(message: WireValue) throws {
        let one = try MessageCase(message)
        switch one.name {
        case "first": self = .first
        case "after": self = .after(try one.value())
        case "offset": self = .offset(try one.value(as: Natural.self).number)
        default: throw one.unknown
        }
    }
}

/// An integer that is not negative.
struct Natural: MessageValue {
    let number: Int

    var message: WireValue { number.message }
    init(message: WireValue) throws {
        number = try Int(message: message)
        guard number >= 0 else { throw MessageError("an integer that is not negative is expected") }
    }
}

extension SortKey: MessageValue {
    public var message: WireValue { .map(("field", field.message), ("descending", isDescending.message)) }

    public init(message: WireValue) throws {
        let map = try MessageMap(message)
        self.init(try map("field"), descending: try map("descending", default: false))
    }
}

extension Cursor: MessageValue {
    public var message: WireValue { .array(values) }
    public init(message: WireValue) throws { self.init(values: try [WireValue](message: message)) }
}

extension RecordPage: MessageValue {
    public var message: WireValue {
        .map(("records", records.message), ("next", next?.message), ("total", total?.message))
    }

    public init(message: WireValue) throws {
        let map = try MessageMap(message)
        self.init(records: try map("records"), next: try map.optional("next"), total: try map.optional("total"))
    }
}

extension Filter: MessageValue {
    public var message: WireValue {
        switch self {
        case .compare(let field, let comparison, let value):
            .named("compare", [field.message, comparison.message, value])
        case .isNull(let field): .named("isNull", field.message)
        case .oneOf(let field, let values): .named("oneOf", [field.message, .array(values)])
        case .hasPrefix(let field, let text): .named("hasPrefix", [field.message, text.message])
        case .hasSuffix(let field, let text): .named("hasSuffix", [field.message, text.message])
        case .containsText(let field, let text): .named("containsText", [field.message, text.message])
        case .listContains(let field, let value): .named("listContains", [field.message, value])
        case .search(let words): .named("search", words.message)
        case .related(let field, let entity, let filter):
            .named("related", [field.message, entity.message, filter.message])
        case .all(let filters): .named("all", filters.message)
        case .any(let filters): .named("any", filters.message)
        case .not(let filter): .named("not", filter.message)
        }
    }

    public init(message: WireValue) throws {
        let one = try MessageCase(message)
        switch one.name {
        case "compare": self = .compare(try one[0, of: 3], try one[1, of: 3], try one[2, of: 3])
        case "isNull": self = .isNull(try one.value())
        case "oneOf": self = .oneOf(try one[0, of: 2], try one[1, of: 2])
        case "hasPrefix": self = .hasPrefix(try one[0, of: 2], try one[1, of: 2])
        case "hasSuffix": self = .hasSuffix(try one[0, of: 2], try one[1, of: 2])
        case "containsText": self = .containsText(try one[0, of: 2], try one[1, of: 2])
        case "listContains": self = .listContains(try one[0, of: 2], try one[1, of: 2])
        case "search": self = .search(words: try one.value())
        case "related": self = .related(try one[0, of: 3], try one[1, of: 3], try one[2, of: 3])
        case "all": self = .all(try one.value())
        case "any": self = .any(try one.value())
        case "not": self = .not(try one.value())
        default: throw one.unknown
        }
    }
}

extension MessageCase {
    /// An element of a content that is an array of `count` elements.
    subscript<Value: MessageValue>(index: Int, of count: Int) -> Value {
        get throws {
            guard case .array(let items) = content, items.count == count, items.indices.contains(index) else {
                throw MessageError("an array of \(count) is expected", at: name)
            }
            do {
                return try Value(message: items[index])
            } catch let error as MessageError {
                throw error.within("\(name)[\(index)]")
            }
        }
    }
}

extension ChangeCursor: MessageValue {
    public var message: WireValue {
        .map(("history", history.message), ("position", position.message), ("scope", scopeHash.message))
    }

    public init(message: WireValue) throws {
        let map = try MessageMap(message)
        self.init(history: try map("history"), position: try map("position"), scopeHash: try map("scope"))
    }
}

extension ChangedRecord: MessageValue {
    public var message: WireValue {
        .map(
            ("entity", entity.message), ("id", id.message), ("state", state.message),
            ("previous", previousFields.message))
    }

    public init(message: WireValue) throws {
        let map = try MessageMap(message)
        self.init(
            entity: try map("entity"), id: try map("id"), state: try map("state"), previousFields: try map("previous"))
    }
}

extension ChangedRecord.State: MessageValue {
    public var message: WireValue {
        switch self {
        case .visible: "visible"
        case .hidden: "hidden"
        case .deleted: "deleted"
        }
    }

    public init(message: WireValue) throws {
        switch try String(message: message) {
        case "visible": self = .visible
        case "hidden": self = .hidden
        case "deleted": self = .deleted
        default: throw MessageError("there is no such case here")
        }
    }
}

extension ChangedRecordPage: MessageValue {
    public var message: WireValue {
        .map(("records", records.message), ("cursor", cursor.message), ("isComplete", isComplete.message))
    }

    public init(message: WireValue) throws {
        let map = try MessageMap(message)
        self.init(records: try map("records"), cursor: try map("cursor"), isComplete: try map("isComplete"))
    }
}

extension CreatedRecords: MessageValue {
    public var message: WireValue { .map(("records", records.message), ("position", position.message)) }

    public init(message: WireValue) throws {
        let map = try MessageMap(message)
        self.init(records: try map("records"), position: try map("position"))
    }
}

extension RecordConflict: MessageValue {
    public var message: WireValue {
        .map(
            ("entity", entity.message), ("change", change.message), ("current", current.message),
            ("changedSince", changedSince?.message), ("caller", caller.message))
    }

    public init(message: WireValue) throws {
        let map = try MessageMap(message)
        self.init(
            entity: try map("entity"), change: try map("change"), current: try map("current"),
            changedSince: try map.optional("changedSince"), caller: try map("caller"))
    }
}

extension RecordConflict.Change: MessageValue {
    public var message: WireValue {
        switch self {
        case .create(let fields): .named("create", fields.message)
        case .update(let fields): .named("update", fields.message)
        case .delete: "delete"
        }
    }

    public init(message: WireValue) throws {
        let one = try MessageCase(message)
        switch one.name {
        case "create": self = .create(try one.value())
        case "update": self = .update(try one.value())
        case "delete": self = .delete
        default: throw one.unknown
        }
    }
}

extension ConflictResolution: MessageValue {
    public var message: WireValue {
        switch self {
        case .keep: "keep"
        case .change(let fields): .named("change", fields.message)
        case .delete: "delete"
        }
    }

    public init(message: WireValue) throws {
        let one = try MessageCase(message)
        switch one.name {
        case "keep": self = .keep
        case "change": self = .change(try one.value())
        case "delete": self = .delete
        default: throw one.unknown
        }
    }
}

extension PreparedChange: MessageValue {
    public var message: WireValue {
        .map(("first", first.message), ("change", change.message), ("asksCaller", asksCaller ? true : nil))
    }

    public init(message: WireValue) throws {
        let map = try MessageMap(message)
        self.init(
            try map("change"), after: try map("first", default: []),
            askingCaller: try map("asksCaller", default: false))
    }
}
