import AdapterKit

extension Principal: MessageValue {
    public var message: WireValue {
        .map(
            ("kind", kind.message), ("id", id.message), ("name", name.message), ("displayName", displayName.message),
            ("roles", roles.isEmpty ? nil : roles.message),
            ("attributes", attributes.isEmpty ? nil : attributes.message))
    }

    public init(message: WireValue) throws {
        let map = try MessageMap(message)
        self.init(
            kind: try map("kind"), id: try map("id"), name: try map("name"),
            displayName: try map.optional("displayName"), roles: try map("roles", default: []),
            attributes: try map("attributes", default: [:]))
    }
}

extension Principal.Kind: MessageValue {
    public var message: WireValue {
        switch self {
        case .anonymous: "anonymous"
        case .user: "user"
        case .program: "program"
        case .operator: "operator"
        case .system: "system"
        }
    }

    public init(message: WireValue) throws {
        switch try String(message: message) {
        case "anonymous": self = .anonymous
        case "user": self = .user
        case "program": self = .program
        case "operator": self = .operator
        case "system": self = .system
        default: throw MessageError("there is no such case here")
        }
    }
}

extension OperationResult: MessageValue {
    public var message: WireValue {
        .map(
            ("content", content.message), ("validators", validators?.message),
            ("age", age == .zero ? nil : age.message))
    }

    public init(message: WireValue) throws {
        let map = try MessageMap(message)
        self.init(
            try map("content"), validators: try map.optional("validators"), age: try map("age", default: .zero))
    }
}

extension OperationResult.Content: MessageValue {
    public var message: WireValue {
        switch self {
        case .nothing: "nothing"
        case .value(let value): .named("value", value)
        case .document(let bytes, let mediaType): .named("document", [.data(bytes), mediaType.message])
        }
    }

    public init(message: WireValue) throws {
        let one = try MessageCase(message)
        switch one.name {
        case "nothing": self = .nothing
        case "value": self = .value(one.content)
        case "document":
            self = .document((try one[0, of: 2] as MessageBytes).bytes, mediaType: try one[1, of: 2])
        default: throw one.unknown
        }
    }
}

extension Validators: MessageValue {
    public var message: WireValue { .map(("version", version?.message), ("lastModified", lastModified?.message)) }

    public init(message: WireValue) throws {
        let map = try MessageMap(message)
        self.init(version: try map.optional("version"), lastModified: try map.optional("lastModified"))
    }
}

extension MountHeaders: MessageValue {
    public var message: WireValue { .array(fields.map { [.string($0.name), .string($0.value)] }) }

    public init(message: WireValue) throws { self.init(try FieldLines(message: message).all.map { Field($0, $1) }) }
}

extension UpstreamHeaders: MessageValue {
    public var message: WireValue { .array(all.map { [.string($0.name), .string($0.value)] }) }

    public init(message: WireValue) throws {
        self.init(try FieldLines(message: message).all.map { (name: $0.0, value: $0.1) })
    }
}

/// Header fields: an array of arrays of a name and a value.
struct FieldLines: MessageValue {
    let all: [(String, String)]

    var message: WireValue { .array(all.map { [.string($0), .string($1)] }) }
    init(message: WireValue) throws {
        all = try [[String]](message: message).map { pair in
            guard pair.count == 2 else { throw MessageError("a header field is a name and a value") }
            return (pair[0], pair[1])
        }
    }
}

extension MountFailure: MessageValue {
    public var message: WireValue {
        .map(
            ("mount", mount.message), ("method", method.message), ("target", target.message),
            ("headers", headers.message), ("requestID", requestID.message))
    }

    public init(message: WireValue) throws {
        let map = try MessageMap(message)
        self.init(
            mount: try map("mount"), method: try map("method"), target: try map("target"),
            headers: try map("headers"), requestID: try map("requestID"))
    }
}

extension FrontPageEntry: MessageValue {
    public var message: WireValue {
        .map(("title", title.message), ("path", path.message), ("summary", summary.message))
    }

    public init(message: WireValue) throws {
        let map = try MessageMap(message)
        self.init(title: try map("title"), path: try map("path"), summary: try map("summary"))
    }
}

extension SampleRecords: MessageValue {
    public var message: WireValue { .map(("entity", entity.message), ("records", records.message)) }

    public init(message: WireValue) throws {
        let map = try MessageMap(message)
        self.init(try map("entity"), try map("records"))
    }
}

extension AccountSummary: MessageValue {
    public var message: WireValue {
        .map(
            ("id", id.message), ("name", name.message), ("displayName", displayName.message),
            ("roles", roles.isEmpty ? nil : roles.message),
            ("credentialVersion", credentialVersion == 0 ? nil : credentialVersion.message))
    }

    public init(message: WireValue) throws {
        let map = try MessageMap(message)
        self.init(
            id: try map("id"), name: try map("name"), displayName: try map("displayName"),
            roles: try map("roles", default: []), credentialVersion: try map("credentialVersion", default: 0))
    }
}

extension LogMessage: MessageValue {
    public var message: WireValue {
        .map(
            ("level", level.message), ("text", text.message),
            ("values", .array(values.map { [.string($0.key), $0.value.message] })))
    }

    public init(message: WireValue) throws {
        let map = try MessageMap(message)
        let values = try map("values", default: [WireValue]()).map { pair in
            guard case .array(let items) = pair, items.count == 2 else {
                throw MessageError("a logged value is a name and a value", at: "values")
            }
            return Item(key: try String(message: items[0]), value: try LogValue(message: items[1]))
        }
        self.init(level: try map("level"), text: try map("text"), values: values)
    }
}

extension LogValue: MessageValue {
    public var message: WireValue {
        switch self {
        case .text(let text): .string(text)
        case .number(let number): .int64(number)
        case .flag(let flag): .bool(flag)
        }
    }

    public init(message: WireValue) throws {
        switch message {
        case .string(let text): self = .text(text)
        case .int64(let number): self = .number(number)
        case .bool(let flag): self = .flag(flag)
        default: throw MessageError("a logged value is a text, an integer, true or false")
        }
    }
}

extension MetricChange {
    /// The parameters of the event.
    public var parameters: WireDictionary {
        switch action {
        case .increment(let amount): ["name": name.message, "kind": "counter", "value": amount.message]
        case .set(let value): ["name": name.message, "kind": "gauge", "value": value.message]
        }
    }

    /// What an event's parameters say; nil for a kind of a later version. Throws ``MessageError``.
    public static func read(_ map: MessageMap) throws -> MetricChange? {
        switch try map("kind", as: String.self) {
        case "counter": MetricChange(try map("name"), .increment(try map("value")))
        case "gauge": MetricChange(try map("name"), .set(try map("value")))
        default: nil
        }
    }
}

extension PushDevice: MessageValue {
    public var message: WireValue { .map(("platform", platform.message), ("token", token.reveal().message)) }

    public init(message: WireValue) throws {
        let map = try MessageMap(message)
        self.init(try map("platform"), token: Secret(try map("token")))
    }
}

extension PushNotification: MessageValue {
    public var message: WireValue {
        .map(
            ("id", id.message), ("title", title.message), ("body", body.message), ("thread", thread?.message),
            ("data", data.message))
    }

    public init(message: WireValue) throws {
        let map = try MessageMap(message)
        self.init(
            id: try map("id"), title: try map("title"), body: try map("body"), thread: try map.optional("thread"),
            data: try map("data", default: [:]))
    }
}

extension PushDelivery: MessageValue {
    public var message: WireValue {
        switch self {
        case .delivered: "delivered"
        case .deviceGone: "deviceGone"
        case .failed(let why): .named("failed", why.message)
        }
    }

    public init(message: WireValue) throws {
        let one = try MessageCase(message)
        switch one.name {
        case "delivered": self = .delivered
        case "deviceGone": self = .deviceGone
        case "failed": self = .failed(try one.value())
        default: throw one.unknown
        }
    }
}

extension RecordAge: MessageValue {
    public var message: WireValue {
        .map(("asOf", asOf.message), ("seconds", seconds.message), ("cacheStatus", cacheStatus.message))
    }

    public init(message: WireValue) throws {
        let map = try MessageMap(message)
        self.init(asOf: try map("asOf"), seconds: try map("seconds"), cacheStatus: try map("cacheStatus"))
    }
}

extension ServiceCall.Binding: MessageValue {
    public var message: WireValue {
        switch self {
        case .none: "none"
        case .record(let set, let record): .named("record", .map(("set", set.message), ("record", record.message)))
        case .records(let set, let filter): .named("records", .map(("set", set.message), ("filter", filter?.message)))
        }
    }

    public init(message: WireValue) throws {
        let one = try MessageCase(message)
        switch one.name {
        case "none": self = .none
        case "record": self = .record(set: try one.map("set"), try one.map("record"))
        case "records": self = .records(set: try one.map("set"), try one.map.optional("filter"))
        default: throw one.unknown
        }
    }
}

extension ServiceResult: MessageValue {
    public var message: WireValue {
        switch self {
        case .nothing: "nothing"
        case .value(let value): .named("value", value)
        case .record(let set, let id): .named("record", .map(("set", set.message), ("id", id.message)))
        case .records(let set, let ids): .named("records", .map(("set", set.message), ("ids", ids.message)))
        }
    }

    public init(message: WireValue) throws {
        let one = try MessageCase(message)
        switch one.name {
        case "nothing": self = .nothing
        case "value": self = .value(one.content)
        case "record": self = .record(set: try one.map("set"), try one.map("id"))
        case "records": self = .records(set: try one.map("set"), try one.map("ids"))
        default: throw one.unknown
        }
    }
}
