import AdapterKit

extension MirrorRequest: MessageValue {
    public var message: WireValue {
        .map(
            ("entity", entity.message), ("page", page?.message), ("since", since?.message),
            ("caller", caller?.message), ("deadline", deadline?.message))
    }

    public init(message: WireValue) throws {
        let map = try MessageMap(message)
        self.init(
            try map("entity"), page: try map.optional("page"), since: try map.optional("since"),
            caller: try map.optional("caller"), deadline: try map.optional("deadline"))
    }
}

extension MirrorPage: MessageValue {
    public var message: WireValue {
        .map(
            ("rows", rows.message), ("removed", removed.isEmpty ? nil : removed.message), ("next", next?.message),
            ("cursor", cursor?.message), ("age", age == .zero ? nil : age.message))
    }

    public init(message: WireValue) throws {
        let map = try MessageMap(message)
        self.init(
            try map("rows"), removed: try map("removed", default: []), next: try map.optional("next"),
            cursor: try map.optional("cursor"), age: max(.zero, try map("age", default: .zero)))
    }
}

extension MirrorChange: MessageValue {
    public var message: WireValue {
        .map(
            ("entity", entity.message), ("id", id.message), ("operation", operation.message),
            ("fields", fields.message), ("before", before?.message), ("idempotencyKey", idempotencyKey.message),
            ("mayRepeat", mayRepeat.message), ("isConditional", isConditional ? true.message : nil))
    }

    public init(message: WireValue) throws {
        let map = try MessageMap(message)
        self.init(
            try map("entity"), try map("id"), try map("operation"), fields: try map("fields"),
            before: try map.optional("before"), idempotencyKey: try map("idempotencyKey"),
            mayRepeat: try map("mayRepeat"), isConditional: try map.optional("isConditional") ?? false)
    }
}

extension MirrorWriteResult: MessageValue {
    public var message: WireValue {
        switch self {
        case .stored(let fields): .named("stored", fields.message)
        case .refused(let code, let text): .named("refused", [.string(code.rawValue), text.message])
        case .notMade(let detail): .named("notMade", detail.message)
        case .unknown(let detail): .named("unknown", detail.message)
        }
    }

    public init(message: WireValue) throws {
        let one = try MessageCase(message)
        switch one.name {
        case "stored": self = .stored(try one.value())
        case "refused": self = .refused((try one[0, of: 2] as CodeText).code, try one[1, of: 2])
        case "notMade": self = .notMade(try one.value())
        case "unknown": self = .unknown(try one.value())
        default: throw one.unknown
        }
    }
}

/// An error code; one that this side does not know is `server.internal`.
struct CodeText: MessageValue {
    let code: ErrorCode

    var message: WireValue { .string(code.rawValue) }
    init(message: WireValue) throws { code = ErrorCode(rawValue: try String(message: message)) ?? .serverInternal }
}

extension MirrorRecord: MessageValue {
    public var message: WireValue {
        switch self {
        case .found(let fields): .named("found", fields.message)
        case .absent: "absent"
        case .unavailable: "unavailable"
        }
    }

    public init(message: WireValue) throws {
        let one = try MessageCase(message)
        switch one.name {
        case "found": self = .found(try one.value())
        case "absent": self = .absent
        case "unavailable": self = .unavailable
        default: throw one.unknown
        }
    }
}

extension UpstreamAddress: MessageValue {
    public var message: WireValue { .string(description) }

    public init(message: WireValue) throws {
        guard let address = UpstreamAddress(try String(message: message)) else {
            throw MessageError("an address of http or https is expected")
        }
        self = address
    }
}
