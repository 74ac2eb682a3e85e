import ValueTree

/// Asks for what changed since a checkpoint, or for the following page.
public struct PullRequest: SyncMessage {
    /// A checkpoint or the `next` of a page, as it came; nil: everything.
    public var checkpoint: String?
    /// Narrows to these; nil: every collection that the caller may see.
    public var collections: [String]?
    /// Operations in one page at most; the server may send fewer.
    public var limit: Int?
    /// Scopes to be sent again from their first record on, because their checksums disagree.
    public var refetch: [String]
    /// Asks for the collections' descriptions: ``PullCompletion/description`` of the ones that the device has, or any
    /// other text where it has none; nil: they are not wanted.
    public var describe: String?
    /// The device that asks, by the id that its pushes have, so that operators see how far it is; nil: it does not say.
    public var clientID: String?

    public init(
        checkpoint: String? = nil, collections: [String]? = nil, limit: Int? = nil, refetch: [String] = [],
        describe: String? = nil, clientID: String? = nil
    ) {
        self.checkpoint = checkpoint
        self.collections = collections
        self.limit = limit
        self.refetch = refetch
        self.describe = describe
        self.clientID = clientID
    }

    public init(from value: WireValue) throws(SyncMessageError) {
        checkpoint = try value.optionalText("checkpoint")
        limit = try value.optionalInteger("limit").map(Int.init(clamping:))
        collections = try value.optionalTexts("collections")
        refetch = try value.optionalTexts("refetch") ?? []
        describe = try value.optionalText("describe")
        clientID = try value.optionalText("clientId")
    }

    public var wireValue: WireValue {
        .dictionary(
            WireDictionary(present: [
                ("checkpoint", checkpoint.map(WireValue.string)),
                ("collections", collections.map { .array($0.map(WireValue.string)) }),
                ("limit", limit.map { .int64(Int64($0)) }),
                ("refetch", refetch.isEmpty ? nil : .array(refetch.map(WireValue.string))),
                ("describe", describe.map(WireValue.string)), ("clientId", clientID.map(WireValue.string)),
            ]))
    }
}

/// A part of an answer to a pull, and what comes after it.
public struct PullPage: SyncMessage {
    /// The state after the page.
    public enum Ending: Sendable, Equatable {
        /// To be sent as `checkpoint` for the following page.
        case next(String)
        /// Nothing: the device has everything.
        case complete(PullCompletion)
    }

    /// Scopes of which the device forgets everything, what earlier pages of this pull brought included, before it takes
    /// this page's operations: they are sent from their first record on.
    public var reset: [String]
    /// In the order in which the device applies them.
    public var operations: [RecordOperation]
    /// Whether more pages follow.
    public var ending: Ending

    /// To be sent as `checkpoint` to go on from this page; nil: the next pull begins anew.
    public var token: String? {
        switch ending {
        case .next(let token): token
        case .complete(let completion): completion.checkpoint
        }
    }

    /// The end of the pull; nil: more pages follow.
    public var completion: PullCompletion? {
        if case .complete(let completion) = ending { completion } else { nil }
    }

    /// Whether nothing more is there.
    public var isComplete: Bool { completion != nil }

    /// Whether it has operations or resets, or more pages follow.
    public var hasChanges: Bool { !operations.isEmpty || !reset.isEmpty || !isComplete }

    public init(reset: [String] = [], operations: [RecordOperation], ending: Ending) {
        self.reset = reset
        self.operations = operations
        self.ending = ending
    }

    public init(from value: WireValue) throws(SyncMessageError) {
        reset = try value.optionalTexts("reset") ?? []
        operations = try value.list("operations", RecordOperation.init(from:))
        if let completion = value.member("complete") {
            ending = .complete(try PullCompletion(from: completion))
        } else {
            ending = .next(try value.text("next"))
        }
    }

    public var wireValue: WireValue {
        var members = WireDictionary(present: [
            ("reset", reset.isEmpty ? nil : .array(reset.map(WireValue.string))),
            ("operations", .array(operations.map(\.wireValue))),
        ])
        switch ending {
        case .next(let token): members["next"] = .string(token)
        case .complete(let completion): members["complete"] = completion.wireValue
        }
        return .dictionary(members)
    }
}

/// One record, as the device is to have it from now on.
public struct RecordOperation: SyncMessage {
    /// The change of the record.
    public enum Kind: Sendable, Equatable {
        /// The record with these fields; every other field is gone.
        case put(RecordFields)
        /// The device no longer has the record. `movedTo`: the id that the record has from now on; nil: it is gone.
        case remove(movedTo: String? = nil)
    }

    /// The collection's name.
    public var collection: String
    /// The record's id.
    public var id: String
    /// The record's revision: the operation id of its last change.
    public var rev: Int64
    /// The change of the record.
    public var kind: Kind

    public init(collection: String, id: String, rev: Int64, kind: Kind) {
        self.collection = collection
        self.id = id
        self.rev = rev
        self.kind = kind
    }

    public init(from value: WireValue) throws(SyncMessageError) {
        collection = try value.text("collection")
        id = try value.text("id")
        rev = try value.integer("rev")
        switch try value.text("operation") {
        case "put": kind = .put(RecordFields(try value.optionalFields("fields") ?? [:]))
        case "remove": kind = .remove(movedTo: try value.optionalText("movedTo"))
        default: throw SyncMessageError("operation", expected: "put or remove")
        }
    }

    public var wireValue: WireValue {
        var members = WireDictionary(present: [
            ("collection", .string(collection)), ("id", .string(id)), ("rev", .int64(rev)),
        ])
        switch kind {
        case .put(let fields):
            members["operation"] = "put"
            members["fields"] = .dictionary(fields.tree)
        case .remove(let movedTo):
            members["operation"] = "remove"
            if let movedTo { members["movedTo"] = .string(movedTo) }
        }
        return .dictionary(members)
    }
}

/// The end of a pull: what the device has once it has applied every page.
public struct PullCompletion: SyncMessage {
    /// To be sent with the next pull.
    public var checkpoint: String
    /// The operation id up to which the device has everything: the caller that has the `rev` of a write compares it.
    public var position: Int64
    /// Every scope that the device has.
    public var scopes: [ScopeSummary]
    /// Names all descriptions of these scopes together: equal ones are the same. The scopes have theirs where it differs
    /// from ``PullRequest/describe``. Nil where they were not asked for, or the server has none to give.
    public var description: String?

    public init(checkpoint: String, position: Int64 = 0, scopes: [ScopeSummary], description: String? = nil) {
        self.checkpoint = checkpoint
        self.position = position
        self.scopes = scopes
        self.description = description
    }

    public init(from value: WireValue) throws(SyncMessageError) {
        checkpoint = try value.text("checkpoint")
        position = try value.optionalInteger("position") ?? 0
        scopes = try value.list("scopes", ScopeSummary.init(from:))
        description = try value.optionalText("description")
    }

    public var wireValue: WireValue {
        .dictionary(
            WireDictionary(present: [
                ("checkpoint", .string(checkpoint)), ("position", .int64(position)),
                ("scopes", .array(scopes.map(\.wireValue))), ("description", description.map(WireValue.string)),
            ]))
    }
}

/// The content of one scope at a checkpoint.
public struct ScopeSummary: SyncMessage {
    /// The scope's name: the collection's.
    public var scope: String
    /// Records in the scope.
    public var count: Int
    /// ``ScopeChecksum/text`` of the scope.
    public var checksum: String
    /// When another system had the scope's records, where they mirror one; nil: their truth is here.
    public var asOf: WireDate?
    /// A description of the collection's records; nil where it was not asked for or is known.
    public var description: CollectionDescription?

    public init(
        scope: String, count: Int, checksum: String, asOf: WireDate? = nil, description: CollectionDescription? = nil
    ) {
        self.scope = scope
        self.count = count
        self.checksum = checksum
        self.asOf = asOf
        self.description = description
    }

    public init(from value: WireValue) throws(SyncMessageError) {
        scope = try value.text("scope")
        count = Int(clamping: try value.integer("count"))
        checksum = try value.text("checksum")
        // A text in formats that know no instants.
        asOf = try value.optionalText("asOf").flatMap { WireDate(rfc3339: $0) }
        if value.member("key") != nil { description = try CollectionDescription(from: value) }
    }

    public var wireValue: WireValue {
        var members: WireDictionary = [
            "scope": .string(scope), "count": .int64(Int64(count)), "checksum": .string(checksum),
        ]
        if let asOf = asOf?.rfc3339 { members["asOf"] = .string(asOf) }
        for member in description?.wireValue.dictionaryValue?.entries ?? [] { members[member.key] = member.value }
        return .dictionary(members)
    }
}

/// A description of a collection from which a device makes records of it without a network.
public struct CollectionDescription: SyncMessage {
    /// The field that holds the record's id.
    public var key: String
    /// The type of each field by the field's name, the key's too: `integer`, `string` and so on, as the protocol lists
    /// them. A type that is not known is passed over.
    public var fields: [String: String]

    public init(key: String, fields: [String: String]) {
        self.key = key
        self.fields = fields
    }

    public init(from value: WireValue) throws(SyncMessageError) {
        key = try value.text("key")
        fields = [:]
        for field in try value.optionalFields("fields")?.entries ?? [] {
            guard let type = field.value.stringValue else {
                throw SyncMessageError("fields", expected: "names of types")
            }
            fields[field.key] = type
        }
    }

    public var wireValue: WireValue {
        var types: WireDictionary = [:]
        for (name, type) in fields.sorted(by: { $0.key < $1.key }) { types[name] = .string(type) }
        return ["key": .string(key), "fields": .dictionary(types)]
    }

    /// The key field's value of a record.
    public func keyValue(of id: String) -> WireValue {
        guard fields[key] == "integer", let number = Int64(id) else { return .string(id) }
        return .int64(number)
    }

    /// The id that the key field names; nil where it has no value that is one.
    public func id(in fields: WireDictionary) -> String? {
        guard let value = fields[key] else { return nil }
        return value.stringValue ?? value.int64Value.map { String($0) }
    }
}
