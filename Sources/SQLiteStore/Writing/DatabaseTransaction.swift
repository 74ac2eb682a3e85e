import AdapterKit
import GRDB
import RecordStorage

/// What somebody does within a commit: reads see it, a throw undoes it.
struct DatabaseTransaction: DatabaseReads, StoreTransaction {
    private let run: ChangeRun
    let floor: Revision

    init(_ run: ChangeRun) throws {
        self.run = run
        floor = try LogFloor.read(run.database)
    }

    var database: Database { run.database }
    var catalogue: LayoutCatalogue { run.catalogue }
    var control: any ReadControl { UncontrolledRead() }
    var position: Revision { Revision(run.revision) }

    var now: WireDate { run.now }

    func apply(_ transaction: WriteTransaction) throws -> WriteReceipt { try run.perform(transaction) }

    func undoing<Result>(_ body: () throws -> Result) throws -> Result { try run.undoing(body) }

    func remember(
        _ content: WireDictionary, of sequence: Int64, from client: ClientID, of identity: String
    ) throws {
        try run.undoing {
            try StoredClients(database: database).remember(
                content, of: sequence, from: client, of: identity, at: position, run.now)
        }
    }

    func keep(_ copy: LosingCopy) throws {
        try run.undoing { try StoredCopies(database: database).keep(copy, at: position, run.now) }
    }
}
