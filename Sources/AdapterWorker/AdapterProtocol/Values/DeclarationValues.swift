import AdapterKit

/// A declaration without its rules: those are code, and cross as questions.
extension AdapterDeclaration: MessageValue {
    public var message: WireValue {
        .map(
            ("name", name.message), ("title", title.message), ("summary", summary.message),
            ("version", version.message), ("access", access.message), ("entities", entities.message),
            ("operations", operations.message), ("mounts", mounts.message), ("soapServices", soapServices.message),
            ("liveFeeds", liveFeeds.message), ("mirrors", mirrors.message))
    }

    public init(message: WireValue) throws { try self.init(message: message, rules: nil) }

    /// `rules`: what its records are held to.
    public init(message: WireValue, rules: (any RecordRules)?) throws {
        let map = try MessageMap(message)
        self.init(
            name: try map("name"), title: try map("title"), summary: try map("summary"), version: try map("version"),
            access: try map("access", default: AccessRights()), entities: try map("entities", default: []),
            operations: try map("operations", default: []), mounts: try map("mounts", default: []),
            liveFeeds: try map("liveFeeds", default: []), mirrors: try map("mirrors", default: []), rules: rules,
            soapServices: try map("soapServices", default: []))
    }
}

/// As the configuration writes it.
extension Access: MessageValue {
    public var message: WireValue { configurationValue }

    public init(message: WireValue) throws {
        guard let access = Access(configurationValue: message) else { throw MessageError("this is no access") }
        self = access
    }
}

/// The rights that are given, without the short forms of the configuration.
extension AccessRights: MessageValue {
    public var message: WireValue {
        .map(("read", read?.message), ("write", write?.message), ("refresh", refresh?.message))
    }

    public init(message: WireValue) throws {
        let map = try MessageMap(message)
        self.init(
            read: try map.optional("read"), write: try map.optional("write"), refresh: try map.optional("refresh"))
    }
}

extension Entity: MessageValue {
    public var message: WireValue {
        .map(
            ("name", name.message), ("summary", summary.message), ("key", key.message), ("fields", fields.message),
            ("indexes", indexes.message), ("searchFields", searchFields.message),
            ("attachments", attachments.message), ("historyFields", historyFields.message),
            ("parents", parents.message), ("rows", rows.message), ("readers", readers?.message),
            ("writers", writers?.message), ("conflictPolicy", conflictPolicy.message),
            ("exposure", exposure.message))
    }

    public init(message: WireValue) throws {
        let map = try MessageMap(message)
        self.init(
            try map("name"), summary: try map("summary"), key: try map("key"), fields: try map("fields"),
            indexes: try map("indexes", default: []), searchFields: try map("searchFields", default: []),
            attachments: try map("attachments", default: []), historyFields: try map("historyFields", default: []),
            parents: try map("parents", default: []), rows: try map("rows", default: .everyone),
            readers: try map.optional("readers"), writers: try map.optional("writers"),
            conflictPolicy: try map("conflictPolicy", default: .merge),
            exposure: try map("exposure", default: .resource))
    }
}

extension EntityKey: MessageValue {
    public var message: WireValue { .map(("field", field.message), ("chooser", chooser.message)) }

    public init(message: WireValue) throws {
        let map = try MessageMap(message)
        self.init(try map("field"), chosenBy: try map("chooser", default: .either))
    }
}

/// An enumeration whose cases have no values, by their names.
protocol NamedCases: MessageValue, Equatable {
    static var names: [(Self, String)] { get }
}

extension NamedCases {
    public var message: WireValue { .string(Self.names.first { $0.0 == self }?.1 ?? "") }

    public init(message: WireValue) throws {
        let name = try String(message: message)
        guard let value = Self.names.first(where: { $0.1 == name })?.0 else {
            throw MessageError("this is none of \(Self.names.map(\.1).joined(separator: ", "))")
        }
        self = value
    }
}

extension EntityKey.Chooser: NamedCases {
    static let names: [(Self, String)] = [(.caller, "caller"), (.server, "server"), (.either, "either")]
}

extension ConflictPolicy: NamedCases {
    static let names: [(Self, String)] = [
        (.reject, "reject"), (.merge, "merge"), (.lastWriterWins, "lastWriterWins"),
        (.adapterDecides, "adapterDecides"),
    ]
}

extension Exposure: NamedCases {
    static let names: [(Self, String)] = [(.resource, "resource"), (.adapterOnly, "adapterOnly")]
}

extension FieldSource: NamedCases {
    static let names: [(Self, String)] = [
        (.caller, "caller"), (.callerOnCreate, "callerOnCreate"), (.creator, "creator"), (.createdAt, "createdAt"),
        (.createdPosition, "createdPosition"), (.modifiedAt, "modifiedAt"), (.rules, "rules"),
    ]
}

extension Effect: NamedCases {
    static let names: [(Self, String)] = [(.reads, "reads"), (.writes, "writes")]
}

extension OperationAuthorization: NamedCases {
    static let names: [(Self, String)] = [(.byAccess, "byAccess"), (.byOperation, "byOperation")]
}

extension CacheLifetime: NamedCases {
    static let names: [(Self, String)] = [(.noStore, "noStore"), (.untilRecordsChange, "untilRecordsChange")]
}

extension Audience: NamedCases {
    static let names: [(Self, String)] = [(.callers, "callers"), (.operators, "operators")]
}

extension MirrorSource.Reading: NamedCases {
    static let names: [(Self, String)] = [(.snapshot, "snapshot"), (.increments, "increments")]
}

extension UpstreamRequest.Redirects: NamedCases {
    static let names: [(Self, String)] = [(.returned, "returned"), (.followed, "followed")]
}

extension Index: MessageValue {
    public var message: WireValue { .map(("fields", fields.message), ("isUnique", isUnique.message)) }

    public init(message: WireValue) throws {
        let map = try MessageMap(message)
        self.init(try map("fields"), isUnique: try map("isUnique", default: false))
    }
}

extension ParentReference: MessageValue {
    public var message: WireValue { .map(("field", field.message), ("entity", entity.message)) }

    public init(message: WireValue) throws {
        let map = try MessageMap(message)
        self.init(try map("field"), in: try map("entity"))
    }
}

extension Field: MessageValue {
    public var message: WireValue {
        .map(
            ("name", name.message), ("shape", shape.message), ("isRequired", isRequired.message),
            ("isNullable", isNullable.message), ("defaultValue", defaultValue.map { [$0] }),
            ("source", source.message), ("maximumCount", maximumCount?.message),
            ("isFilterable", isFilterable ? nil : isFilterable.message),
            ("isSortable", isSortable ? nil : isSortable.message), ("summary", summary.message))
    }

    public init(message: WireValue) throws {
        let map = try MessageMap(message)
        self.init(
            try map("name"), try map("shape"), isRequired: try map("isRequired", default: false),
            isNullable: try map("isNullable", default: false), defaultValue: try map.defaultValue(),
            source: try map("source", default: .caller),
            maximumCount: try map.optional("maximumCount", as: Natural.self)?.number,
            isFilterable: try map("isFilterable", default: true), isSortable: try map("isSortable", default: true),
            summary: try map("summary", default: ""))
    }
}

extension MessageMap {
    /// A default value, which may be null, so it crosses as an array of one.
    func defaultValue() throws -> WireValue? {
        guard let value = members["defaultValue"], !value.isNull else { return nil }
        guard case .array(let items) = value, items.count == 1 else {
            throw MessageError("an array of one value is expected", at: "defaultValue")
        }
        return items[0]
    }
}

extension RowRules: MessageValue {
    public var message: WireValue { .map(("read", read.message), ("write", write.message)) }

    public init(message: WireValue) throws {
        let map = try MessageMap(message)
        self.init(read: try map("read"), write: try map("write"))
    }
}

extension RowRule: MessageValue {
    public var message: WireValue {
        switch self {
        case .everyone: "everyone"
        case .nobody: "nobody"
        case .owner(let field): .named("owner", field.message)
        case .sharedWith(let field): .named("sharedWith", field.message)
        case .attributeEquals(let field, let attribute):
            .named("attributeEquals", [field.message, attribute.message])
        case .signedIn: "signedIn"
        case .hasRole(let role): .named("hasRole", role.message)
        case .fieldIsOneOf(let field, let values): .named("fieldIsOneOf", [field.message, .array(values)])
        case .memberOf(let entity, let field, let members):
            .named("memberOf", [entity.message, field.message, members.message])
        case .not(let rule): .named("not", rule.message)
        case .any(let rules): .named("any", rules.message)
        case .all(let rules): .named("all", rules.message)
        }
    }

    public init(message: WireValue) throws {
        let one = try MessageCase(message)
        switch one.name {
        case "everyone": self = .everyone
        case "nobody": self = .nobody
        case "owner": self = .owner(try one.value())
        case "sharedWith": self = .sharedWith(try one.value())
        case "attributeEquals": self = .attributeEquals(try one[0, of: 2], attribute: try one[1, of: 2])
        case "signedIn": self = .signedIn
        case "hasRole": self = .hasRole(try one.value())
        case "fieldIsOneOf": self = .fieldIsOneOf(try one[0, of: 2], try one[1, of: 2])
        case "memberOf":
            self = .memberOf(try one[0, of: 3], through: try one[1, of: 3], members: try one[2, of: 3])
        case "not": self = .not(try one.value())
        case "any": self = .any(try one.value())
        case "all": self = .all(try one.value())
        default: throw one.unknown
        }
    }
}

extension Shape: MessageValue {
    public var message: WireValue {
        switch self {
        case .any: "any"
        case .bool: "bool"
        case .integer(let limits):
            .named("integer", [.int64(limits.range.lowerBound), .int64(limits.range.upperBound)])
        case .double: "double"
        case .decimal(let scale): .named("decimal", scale.message)
        case .string(let limits): .named("string", [limits.minimumLength.message, limits.maximumLength.message])
        case .choice(let texts): .named("choice", texts.message)
        case .date: "date"
        case .data(let maximum): .named("data", maximum.message)
        case .list(let shape): .named("list", shape.message)
        case .object(let shape): .named("object", shape.message)
        }
    }

    public init(message: WireValue) throws {
        let one = try MessageCase(message)
        switch one.name {
        case "any": self = .any
        case "bool": self = .bool
        case "integer":
            let (lower, upper): (Int64, Int64) = (try one[0, of: 2], try one[1, of: 2])
            guard lower <= upper else { throw MessageError("the smallest is larger than the largest", at: "integer") }
            self = .integer(IntegerRange(lower...upper))
        case "double": self = .double
        case "decimal": self = .decimal(scale: try one.value(as: Natural?.self)?.number)
        case "string":
            let (minimum, maximum): (Natural, Natural) = (try one[0, of: 2], try one[1, of: 2])
            self = .string(TextLimits(minimumLength: minimum.number, maximumLength: maximum.number))
        case "choice": self = .choice(try one.value())
        case "date": self = .date
        case "data": self = .data(maximumBytes: try one.value(as: Natural.self).number)
        case "list": self = .list(of: try one.value())
        case "object": self = .object(try one.value())
        default: throw one.unknown
        }
    }
}

extension ObjectShape: MessageValue {
    public var message: WireValue {
        .map(("name", name.message), ("members", members.message), ("isOpen", isOpen.message))
    }

    public init(message: WireValue) throws {
        let map = try MessageMap(message)
        let members: [Member] = try map("members", default: [])
        guard Set(members.map(\.name)).count == members.count else {
            throw MessageError("two members have one name", at: "members")
        }
        self.init(try map("name"), isOpen: try map("isOpen", default: false), members: members)
    }
}

extension Member: MessageValue {
    public var message: WireValue {
        .map(
            ("name", name.message), ("shape", shape.message), ("isRequired", isRequired.message),
            ("isNullable", isNullable.message), ("defaultValue", defaultValue.map { [$0] }),
            ("acceptsText", acceptsText.message), ("summary", summary.message))
    }

    public init(message: WireValue) throws {
        let map = try MessageMap(message)
        self.init(
            try map("name"), try map("shape"), isRequired: try map("isRequired", default: false),
            isNullable: try map("isNullable", default: false), defaultValue: try map.defaultValue(),
            acceptsText: try map("acceptsText", default: false), summary: try map("summary", default: ""))
    }
}

extension Operation: MessageValue {
    public var message: WireValue {
        .map(
            ("name", name.message), ("summary", summary.message), ("effect", effect.message),
            ("isIdempotent", isIdempotent.message), ("input", input.message), ("output", output.message),
            ("documentType", documentType?.message), ("authorization", authorization.message),
            ("access", access?.message), ("deadline", deadline?.message), ("caching", caching.message),
            ("entities", entities?.message), ("mirrorParameter", mirrorParameter?.message),
            ("callThrough", callThrough?.message), ("audience", audience.message), ("bindings", bindings.message))
    }

    public init(message: WireValue) throws {
        let map = try MessageMap(message)
        self.init(
            try map("name"), summary: try map("summary"), effect: try map("effect"),
            isIdempotent: try map.optional("isIdempotent"), input: try map.optional("input"),
            output: try map("output"), documentType: try map.optional("documentType"),
            authorization: try map("authorization", default: .byAccess), access: try map.optional("access"),
            deadline: try map.optional("deadline"), caching: try map("caching", default: .noStore),
            entities: try map.optional("entities"), mirrorParameter: try map.optional("mirrorParameter"),
            callThrough: try map.optional("callThrough"), audience: try map("audience", default: .callers),
            bindings: try map("bindings", default: []))
    }
}

extension CallThrough: MessageValue {
    public var message: WireValue {
        .map(
            ("upstream", upstream.message), ("freshFor", freshFor.message), ("staleFor", staleFor.message),
            ("waitFor", waitFor.message), ("keptAnswers", keptAnswers.message), ("keptBytes", keptBytes.message))
    }

    public init(message: WireValue) throws {
        let map = try MessageMap(message)
        let standard = CallThrough(to: try map("upstream"))
        self.init(
            to: standard.upstream, freshFor: try map("freshFor", default: standard.freshFor),
            staleFor: try map("staleFor", default: standard.staleFor),
            waitFor: try map("waitFor", default: standard.waitFor),
            keptAnswers: try map.optional("keptAnswers", as: Natural.self)?.number ?? standard.keptAnswers,
            keptBytes: try map.optional("keptBytes", as: Natural.self)?.number ?? standard.keptBytes)
    }
}

extension PathTemplate: MessageValue {
    public var message: WireValue { .string(description) }

    public init(message: WireValue) throws {
        guard let path = PathTemplate(try String(message: message)) else {
            throw MessageError("a path begins with `/` and has no empty part")
        }
        self = path
    }
}

extension HTTPBinding: MessageValue {
    public var message: WireValue {
        .map(
            ("method", method.message), ("path", path.message), ("queryMembers", queryMembers.message),
            ("form", form.message), ("presentation", presentation.message))
    }

    public init(message: WireValue) throws {
        let map = try MessageMap(message)
        self.init(
            try map("method"), try map("path"), queryMembers: try map("queryMembers", default: []),
            form: try map("form", default: .members), presentation: try map("presentation", default: Presentation()))
    }
}

extension FormBody: MessageValue {
    public var message: WireValue {
        switch self {
        case .members: "members"
        case .document(let field, let errorMessage): .named("document", [field.message, errorMessage.message])
        }
    }

    public init(message: WireValue) throws {
        let one = try MessageCase(message)
        switch one.name {
        case "members": self = .members
        case "document": self = .document(field: try one[0, of: 2], errorMessage: try one[1, of: 2])
        default: throw one.unknown
        }
    }
}

extension Presentation: MessageValue {
    public var message: WireValue {
        .map(
            ("defaultFormat", defaultFormat.message), ("xml", xml?.message),
            ("textXMLIsPropertyList", textXMLIsPropertyList.message), ("errors", errors.message),
            ("omitsNull", omitsNull.message))
    }

    public init(message: WireValue) throws {
        let map = try MessageMap(message)
        self.init(
            defaultFormat: try map("defaultFormat", default: "json"), xml: try map.optional("xml"),
            textXMLIsPropertyList: try map("textXMLIsPropertyList", default: false),
            errors: try map("errors", default: .standard), omitsNull: try map("omitsNull", default: true))
    }
}

extension XMLDocument: MessageValue {
    public var message: WireValue { .map(("root", root.message), ("namespace", namespace?.message)) }

    public init(message: WireValue) throws {
        let map = try MessageMap(message)
        self.init(root: try map("root"), namespace: try map.optional("namespace"))
    }
}

extension ErrorPresentation: MessageValue {
    public var message: WireValue {
        switch self {
        case .standard: "standard"
        case .flat(let code, let text): .named("flat", [code.message, text.message])
        }
    }

    public init(message: WireValue) throws {
        let one = try MessageCase(message)
        switch one.name {
        case "standard": self = .standard
        case "flat": self = .flat(code: try one[0, of: 2], message: try one[1, of: 2])
        default: throw one.unknown
        }
    }
}

extension HTTPMount: MessageValue {
    public var message: WireValue {
        .map(
            ("name", name.message), ("summary", summary.message), ("path", path.message), ("methods", methods.message),
            ("readingPosts", readingPosts.message), ("requiresToken", requiresToken.message),
            ("mediaType", mediaType.message), ("authorization", authorization.message), ("access", access?.message),
            ("bodyLimit", bodyLimit?.message), ("tellsAge", tellsAge.message))
    }

    public init(message: WireValue) throws {
        let map = try MessageMap(message)
        self.init(
            try map("name"), summary: try map("summary"), path: try map("path"), methods: try map("methods"),
            readingPosts: try map("readingPosts", default: []),
            requiresToken: try map("requiresToken", default: false),
            mediaType: try map("mediaType", default: "application/json"),
            authorization: try map("authorization", default: .byAccess), access: try map.optional("access"),
            bodyLimit: try map.optional("bodyLimit", as: Natural.self)?.number,
            tellsAge: try map("tellsAge", default: false))
    }
}

extension SOAPService: MessageValue {
    public var message: WireValue {
        .map(
            ("name", name.message), ("namespace", namespace.message), ("paths", paths.message),
            ("operations", operations.message))
    }

    public init(message: WireValue) throws {
        let map = try MessageMap(message)
        self.init(
            try map("name"), namespace: try map("namespace"), paths: try map("paths"),
            operations: try map("operations"))
    }
}

extension LiveFeed: MessageValue {
    public var message: WireValue {
        .map(
            ("name", name.message), ("summary", summary.message), ("path", path.message), ("group", group.message),
            ("sources", sources.message), ("presence", presence?.message))
    }

    public init(message: WireValue) throws {
        let map = try MessageMap(message)
        self.init(
            try map("name"), summary: try map("summary"), path: try map("path"), group: try map("group"),
            sources: try map("sources"), presence: try map.optional("presence"))
    }
}

extension LiveFeed.Group: MessageValue {
    public var message: WireValue {
        .map(
            ("entity", entity.message), ("members", members.message), ("membership", membership.message),
            ("changed", changed.message), ("fields", fields.message))
    }

    public init(message: WireValue) throws {
        let map = try MessageMap(message)
        self.init(
            try map("entity"), members: try map("members"), membership: try map("membership"),
            changed: try map("changed"), fields: try map("fields"))
    }
}

extension LiveFeed.Source: MessageValue {
    public var message: WireValue {
        .map(
            ("entity", entity.message), ("group", group.message), ("created", created.message),
            ("changed", changed.message), ("removed", removed?.message), ("fields", fields.message))
    }

    public init(message: WireValue) throws {
        let map = try MessageMap(message)
        self.init(
            try map("entity"), group: try map("group"), created: try map("created"), changed: try map("changed"),
            removed: try map.optional("removed"), fields: try map("fields"))
    }
}

extension MirrorSource: MessageValue {
    public var message: WireValue {
        .map(
            ("entity", entity.message), ("upstream", upstream.message), ("reading", reading.message),
            ("writing", writing.message), ("changes", changes.sorted { $0.rawValue < $1.rawValue }.message),
            ("honoursIdempotencyKeys", honoursIdempotencyKeys.message),
            ("supportsRowsOfCallers", supportsRowsOfCallers.message), ("derivedEntity", derivedEntity?.message),
            ("settings", settings.message))
    }

    public init(message: WireValue) throws {
        let map = try MessageMap(message)
        self.init(
            try map("entity"), of: try map("upstream"), reading: try map("reading", default: .snapshot),
            writing: try map("writing", default: .none),
            changes: Set(try map("changes", default: MirrorChange.Kind.allCases)),
            honoursIdempotencyKeys: try map("honoursIdempotencyKeys", default: false),
            supportsRowsOfCallers: try map("supportsRowsOfCallers", default: false),
            derivedEntity: try map.optional("derivedEntity"),
            settings: try map("settings", default: MirrorSettings()))
    }
}

extension MirrorSettings: MessageValue {
    public var message: WireValue {
        .map(
            ("freshFor", freshFor.message), ("staleFor", staleFor.message), ("waitFor", waitFor.message),
            ("refresh", refresh?.message),
            ("guard", .map(("share", self.guard.share.message), ("from", self.guard.from.message))),
            ("callers", .map(("count", callers.count.message), ("rows", callers.rows.message))))
    }

    public init(message: WireValue) throws {
        self.init()
        let map = try MessageMap(message)
        freshFor = try map("freshFor", default: freshFor)
        staleFor = try map("staleFor", default: staleFor)
        waitFor = try map("waitFor", default: waitFor)
        refresh = try map.optional("refresh")
        if let members = try map.optional("guard", as: WireDictionary.self) {
            let map = try MessageMap(members.message)
            self.guard = Guard(share: try map("share"), from: try map("from"))
        }
        if let members = try map.optional("callers", as: WireDictionary.self) {
            let map = try MessageMap(members.message)
            callers = Callers(count: try map("count"), rows: try map("rows"))
        }
    }
}

extension ConfigurationOption: MessageValue {
    public var message: WireValue {
        .map(
            ("path", path.message), ("kind", valueKind.message), ("defaultValue", defaultValue.map { [$0] }),
            ("changesRecords", changesRecords ? true.message : nil), ("summary", summary.message))
    }

    public init(message: WireValue) throws {
        let map = try MessageMap(message)
        self.init(
            try map("path"), try map("kind", as: ValueKind.self), defaultValue: try map.defaultValue(),
            changesRecords: try map("changesRecords", default: false), summary: try map("summary"))
    }
}

extension ConfigurationOption.ValueKind: MessageValue {
    public var message: WireValue {
        switch self {
        case .value(let shape): .named("value", shape.message)
        case .access: "access"
        case .secret: "secret"
        case .duration: "duration"
        case .size: "size"
        case .upstream: "upstream"
        case .textLists: "textLists"
        // The gateway reads no file of a program's.
        case .file: Self.value(.string).message
        }
    }

    public init(message: WireValue) throws {
        let one = try MessageCase(message)
        switch one.name {
        case "value": self = .value(try one.value())
        case "access": self = .access
        case "secret": self = .secret
        case "duration": self = .duration
        case "size": self = .size
        case "upstream": self = .upstream
        case "textLists": self = .textLists
        default: throw one.unknown
        }
    }
}

extension AdapterConfiguration: MessageValue {
    public var message: WireValue {
        .map(
            ("values", values.message), ("directory", directory.message),
            ("upstreamsOfCallers", upstreamsOfCallers.isEmpty ? nil : upstreamsOfCallers.message))
    }

    public init(message: WireValue) throws {
        let map = try MessageMap(message)
        self.init(
            try map("values"), directory: try map("directory", default: "."),
            upstreamsOfCallers: try map("upstreamsOfCallers", default: []))
    }
}
