import AdapterKit
import GRDB
import RecordStorage

/// A read-only connection within one transaction, so that everything read through it is of one state.
struct DatabaseSnapshot: DatabaseReads {
    let database: Database
    let catalogue: LayoutCatalogue
    let control: any ReadControl
    let position: Revision
    let floor: Revision

    init(_ database: Database, _ catalogue: LayoutCatalogue, _ control: any ReadControl) throws {
        self.database = database
        self.catalogue = catalogue
        self.control = control
        position = Revision(try StoredPositions.last(on: database))
        floor = try LogFloor.read(database)
    }
}

/// Reads over any connection that is within a transaction.
protocol DatabaseReads: StoreSnapshot {
    var database: Database { get }
    var catalogue: LayoutCatalogue { get }
    var control: any ReadControl { get }
}

extension DatabaseReads {
    func checkCancellation() throws { try control.check() }

    func record(_ id: RecordID, in collection: CollectionID, visible: Filter?) throws -> Record? {
        try control.check()
        return try reader.record(id, in: try catalogue.layout(collection), visible: visible)
    }

    func query(_ query: Query, in collection: CollectionID) throws -> RecordPage {
        try control.check()
        try query.checkSize()
        return try reader.page(query, in: try catalogue.layout(collection))
    }

    func query(_ query: Query, in collection: CollectionID, atMost bytes: Int) throws -> RecordPage {
        try control.check()
        try query.checkSize()
        return try reader.page(query, in: try catalogue.layout(collection), atMost: bytes)
    }

    func count(_ filter: Filter?, in collection: CollectionID) throws -> Int {
        try control.check()
        return try reader.count(filter, in: try catalogue.layout(collection))
    }

    func rows(
        _ relation: Relation, seen visible: VisibleRows, _ receive: (any RowValues) throws -> Void
    ) throws {
        try RelationReader(database: database, catalogue: catalogue, control: control).rows(relation, visible, receive)
    }

    func changes(after position: Revision, limit: Int) throws -> [LogEntry] {
        try control.check()
        return try OperationLog.entries(after: position, limit: limit, on: database)
    }

    func history(of id: RecordID, in collection: CollectionID, limit: Int) throws -> [LogEntry] {
        try control.check()
        return try OperationLog.history(of: id, in: try catalogue.layout(collection), limit: limit, on: database)
    }

    func client(_ id: ClientID) throws -> PushClient? { try StoredClients(database: database).client(id) }

    func clients(after id: ClientID?, limit: Int) throws -> [PushClient] {
        try StoredClients(database: database).clients(after: id, limit: limit)
    }

    func outcome(of sequence: Int64, from client: ClientID) throws -> PushOutcome? {
        try StoredClients(database: database).outcome(of: sequence, from: client)
    }

    func keptCopies(_ which: KeptCopies, before number: Int64?, limit: Int) throws -> [KeptCopy] {
        try StoredCopies(database: database).copies(which, before: number, limit: limit)
    }

    func replacements() throws -> [CollectionID: Revision] { try MirrorStates(database: database).replacements() }

    func mirrorState(of collection: CollectionID) throws -> WireDictionary? {
        try MirrorStates(database: database).state(of: collection)
    }

    private var reader: Reader { Reader(database: database, catalogue: catalogue) }
}
