import ValueTree

/// A device's changes, in the order in which they were made.
public struct PushRequest: SyncMessage {
    /// Chosen once by the device; bound to the first identity that uses it.
    public var clientID: String
    /// The last checkpoint that the device applied: base revisions of another epoch mean nothing.
    public var checkpoint: String?
    /// In the order in which they were made.
    public var mutations: [Mutation]

    public init(clientID: String, checkpoint: String? = nil, mutations: [Mutation]) {
        self.clientID = clientID
        self.checkpoint = checkpoint
        self.mutations = mutations
    }

    public init(from value: WireValue) throws(SyncMessageError) {
        clientID = try value.text("clientId")
        checkpoint = try value.optionalText("checkpoint")
        mutations = try value.list("mutations", Mutation.init(from:))
    }

    public var wireValue: WireValue {
        .dictionary(
            WireDictionary(present: [
                ("clientId", .string(clientID)), ("checkpoint", checkpoint.map(WireValue.string)),
                ("mutations", .array(mutations.map(\.wireValue))),
            ]))
    }
}

/// One change of one record.
public struct Mutation: SyncMessage {
    /// A kind of change.
    public enum Operation: String, Sendable {
        /// Creates the record.
        case create
        /// Sets the named fields and leaves the others.
        case update
        /// Deletes the record.
        case delete
    }

    /// Grows with every mutation of the client; a repeated one names the same mutation.
    public var sequence: Int64
    /// The kind of the change.
    public var operation: Operation
    /// The collection's name.
    public var collection: String
    /// The record's id.
    public var id: String
    /// The revision that the change was made on; nil where there was none.
    public var baseRev: Int64?
    /// The changed fields; nil for a deletion.
    public var fields: WireDictionary?

    public init(
        sequence: Int64, operation: Operation, collection: String, id: String, baseRev: Int64?, fields: WireDictionary?
    ) {
        self.sequence = sequence
        self.operation = operation
        self.collection = collection
        self.id = id
        self.baseRev = baseRev
        self.fields = fields
    }

    public init(from value: WireValue) throws(SyncMessageError) {
        sequence = try value.integer("sequence")
        guard let operation = Operation(rawValue: try value.text("operation")) else {
            throw SyncMessageError("operation", expected: "create, update or delete")
        }
        self.operation = operation
        collection = try value.text("collection")
        id = try value.text("id")
        baseRev = try value.optionalInteger("baseRev")
        fields = try value.optionalFields("fields")
    }

    public var wireValue: WireValue {
        .dictionary(
            WireDictionary(present: [
                ("sequence", .int64(sequence)), ("operation", .string(operation.rawValue)),
                ("collection", .string(collection)), ("id", .string(id)), ("baseRev", baseRev.map(WireValue.int64)),
                ("fields", fields.map(WireValue.dictionary)),
            ]))
    }
}

/// The outcomes of a push's mutations.
public struct PushResponse: SyncMessage {
    /// One for each mutation.
    public var outcomes: [MutationOutcome]
    /// A checkpoint that contains them. It has no scopes: it can be compared with others and not be continued from.
    public var checkpoint: String
    /// The operation id of that checkpoint: a pull that is complete at this one or a later one contains them.
    public var position: Int64

    public init(outcomes: [MutationOutcome], checkpoint: String, position: Int64 = 0) {
        self.outcomes = outcomes
        self.checkpoint = checkpoint
        self.position = position
    }

    public init(from value: WireValue) throws(SyncMessageError) {
        outcomes = try value.list("outcomes", MutationOutcome.init(from:))
        checkpoint = try value.text("checkpoint")
        position = try value.optionalInteger("position") ?? 0
    }

    public var wireValue: WireValue {
        [
            "outcomes": .array(outcomes.map(\.wireValue)), "checkpoint": .string(checkpoint),
            "position": .int64(position),
        ]
    }
}

/// The outcome of one mutation.
public struct MutationOutcome: SyncMessage {
    /// Whether the change was made.
    public enum Verdict: String, Sendable {
        /// Made as it was sent.
        case applied
        /// Made together with changes of others; ``record`` is the result.
        case merged
        /// Not made: the record is another than the one that the change was made on. ``record`` is the server's copy.
        case conflict
        /// Not made and never to be; ``reason`` says why.
        case rejected
        /// Not made now: to be sent again under the same sequence.
        case retry
    }

    /// The mutation's sequence number.
    public var sequence: Int64
    /// Whether the change was made.
    public var verdict: Verdict
    /// The record's revision after the change; nil where nothing was changed.
    public var rev: Int64?
    /// Nil where the record is not there.
    public var record: RecordCopy?
    /// A code of the error registry.
    public var reason: String?
    /// The reason in words that may be shown.
    public var message: String?
    /// After how many seconds a mutation that is to be sent again should be; nil: the device decides.
    public var retryAfter: Int64?

    public init(
        sequence: Int64, verdict: Verdict, rev: Int64? = nil, record: RecordCopy? = nil, reason: String? = nil,
        message: String? = nil, retryAfter: Int64? = nil
    ) {
        self.sequence = sequence
        self.verdict = verdict
        self.rev = rev
        self.record = record
        self.reason = reason
        self.message = message
        self.retryAfter = retryAfter
    }

    public init(from value: WireValue) throws(SyncMessageError) {
        sequence = try value.integer("sequence")
        guard let verdict = Verdict(rawValue: try value.text("outcome")) else {
            throw SyncMessageError("outcome", expected: "applied, merged, conflict, rejected or retry")
        }
        self.verdict = verdict
        rev = try value.optionalInteger("rev")
        if let copy = value.member("record") { record = try RecordCopy(from: copy) }
        reason = try value.optionalText("reason")
        message = try value.optionalText("message")
        retryAfter = try value.optionalInteger("retryAfter")
    }

    public var wireValue: WireValue {
        .dictionary(
            WireDictionary(present: [
                ("sequence", .int64(sequence)), ("outcome", .string(verdict.rawValue)),
                ("rev", rev.map(WireValue.int64)), ("record", record?.wireValue),
                ("reason", reason.map(WireValue.string)), ("message", message.map(WireValue.string)),
                ("retryAfter", retryAfter.map(WireValue.int64)),
            ]))
    }
}

/// A record as the server has it.
public struct RecordCopy: SyncMessage {
    /// The record's id.
    public var id: String
    /// The record's revision: the operation id of its last change.
    public var rev: Int64
    /// The fields, as they were read.
    public var content: RecordFields

    /// ``content`` as a tree.
    public var fields: WireDictionary {
        get { content.tree }
        set { content = RecordFields(newValue) }
    }

    public init(id: String, rev: Int64, fields: WireDictionary) {
        self.init(id: id, rev: rev, content: RecordFields(fields))
    }

    public init(id: String, rev: Int64, content: RecordFields) {
        self.id = id
        self.rev = rev
        self.content = content
    }

    public init(from value: WireValue) throws(SyncMessageError) {
        id = try value.text("id")
        rev = try value.integer("rev")
        content = RecordFields(try value.optionalFields("fields") ?? [:])
    }

    public var wireValue: WireValue {
        ["id": .string(id), "rev": .int64(rev), "fields": .dictionary(fields)]
    }
}
