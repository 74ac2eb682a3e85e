import SyncMessages
import ValueTree

/// All that a device must not forget. The fold of its journal: a device that restarts reads its last snapshot, applies
/// the entries after it, and is where it was.
public struct DeviceState: Sendable, Equatable {
    /// Names the replica to the server.
    public let clientID: String
    /// Edits that the server does not have, or the replica does not show.
    public private(set) var outbox = Outbox()
    /// The server's records, as of the checkpoint.
    public private(set) var rows = ReplicaRows()
    /// The last one applied; nil: the next pull starts from nothing.
    public private(set) var checkpoint: String?
    /// The server's statement about its collections with that checkpoint; nil: none.
    public private(set) var known: KnownCollections?

    /// A replica that has nothing yet.
    public init(clientID: String) {
        self.clientID = clientID
    }

    /// From a snapshot: to be followed by the entries after it.
    public init(
        clientID: String, outbox: Outbox, rows: ReplicaRows, checkpoint: String?, known: KnownCollections? = nil
    ) {
        self.clientID = clientID
        self.outbox = outbox
        self.rows = rows
        self.checkpoint = checkpoint
        self.known = known
    }

    /// Takes one step of the journal.
    public mutating func apply(_ entry: JournalEntry) {
        switch entry {
        case .edited(let edit): outbox.add(edit)
        case .sending(let numbers): outbox.assignSequences(to: numbers)
        case .settled(let outcomes): for outcome in outcomes { outbox.settle(outcome) }
        case .resolved(let number, let edit):
            _ = outbox.takeSetAside(number)
            if let edit { outbox.add(edit) }
        case .mustStartOver: checkpoint = nil
        case .pulled(let pulled): apply(pulled)
        }
    }

    private mutating func apply(_ pulled: JournalEntry.Pulled) {
        rows.apply(pulled.rows)
        checkpoint = pulled.completion.checkpoint
        if pulled.completion.description != known?.description { known = KnownCollections(pulled.completion) }
        outbox.forgetAcknowledged(through: pulled.completion.position)
        for (old, id) in pulled.moves { outbox.move(old, to: id, rows, known?[old.collection]) }
        if pulled.startsOver { outbox.rebase(onto: rows) }
    }

    mutating func forgetStoredRows() {
        rows.forgetStored()
    }

    /// The record as the app is to see it: the server's, with what was done here since laid over it. A record that was
    /// made here has its key among its fields, as the server's have.
    public subscript(key: RecordKey) -> RecordCopy? {
        guard var record = outbox.overlay(key, over: rows[key]) else { return nil }
        guard let description = known?[key.collection], description.id(in: record.fields) == nil else { return record }
        var fields: WireDictionary = [description.key: description.keyValue(of: key.id)]
        for field in record.fields.entries where field.key != description.key { fields[field.key] = field.value }
        record.fields = fields
        return record
    }

    /// All records of a collection as the app is to see them, in the order of their ids.
    public func records(of collection: String) -> [RecordCopy] {
        let touched = outbox.touchedKeys.filter { $0.collection == collection }
        let untouched = rows.records(of: collection).filter { !touched.contains(RecordKey(collection, $0.id)) }
        return (untouched + touched.compactMap { self[$0] }).sorted { $0.id < $1.id }
    }
}

/// The server's statement about the collections that the account may read.
public struct KnownCollections: Sendable, Equatable {
    /// Names all of it together, for the server.
    public let description: String
    private let collections: [String: CollectionDescription]

    /// Nil where the server said nothing.
    init?(_ completion: PullCompletion) {
        guard let description = completion.description else { return nil }
        self.description = description
        collections = Dictionary(
            completion.scopes.compactMap { scope in scope.description.map { (scope.scope, $0) } },
            uniquingKeysWith: { $1 })
    }

    /// Nil where the account has no such collection.
    public subscript(collection: String) -> CollectionDescription? { collections[collection] }

    /// As a value tree, for a snapshot.
    public var wireValue: WireValue {
        var members: WireDictionary = [:]
        for (name, known) in collections.sorted(by: { $0.key < $1.key }) { members[name] = known.wireValue }
        return ["description": .string(description), "collections": .dictionary(members)]
    }

    /// Reads what ``wireValue`` wrote.
    public init(from value: WireValue) throws(SyncMessageError) {
        description = try value.text("description")
        var found: [String: CollectionDescription] = [:]
        for entry in try value.optionalFields("collections")?.entries ?? [] {
            found[entry.key] = try CollectionDescription(from: entry.value)
        }
        collections = found
    }
}

/// One step of what a device must not forget. Each is durable as a whole or not at all.
public enum JournalEntry: Sendable, Equatable {
    /// The app made an edit.
    case edited(PendingEdit)
    /// These edits get their sequences. Durable before they are sent, so that a repetition has the same ones.
    case sending([Int64])
    /// Mutations got these outcomes.
    case settled([MutationOutcome])
    /// A set aside edit goes, and the one that the app makes in its place comes.
    case resolved(Int64, PendingEdit?)
    /// The checkpoint is no longer valid; the next pull begins without one.
    case mustStartOver
    /// A pull is complete.
    case pulled(Pulled)

    /// A checkpoint and all that belongs to it.
    public struct Pulled: Sendable, Equatable {
        /// The rows that the pull changed.
        public let rows: StagedRows
        /// Its checkpoint and the scopes' checksums.
        public let completion: PullCompletion
        /// Whether the rows replace everything that was there.
        public let startsOver: Bool
        /// Records that have another id from now on.
        public let moves: [RecordKey: String]
    }
}

/// One record of one collection, as the messages name them.
public struct RecordKey: Sendable, Hashable, Comparable {
    /// The collection's name.
    public let collection: String
    /// The record's id.
    public let id: String

    /// Names a record of a collection.
    public init(_ collection: String, _ id: String) {
        self.collection = collection
        self.id = id
    }

    public static func < (left: RecordKey, right: RecordKey) -> Bool {
        (left.collection, left.id) < (right.collection, right.id)
    }
}

extension WireDictionary {
    /// These fields with others laid over them.
    func merging(_ others: WireDictionary) -> WireDictionary {
        var merged = self
        for entry in others.entries { merged[entry.key] = entry.value }
        return merged
    }
}
