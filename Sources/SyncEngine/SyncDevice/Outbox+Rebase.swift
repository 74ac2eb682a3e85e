import SyncMessages
import ValueTree

extension Outbox {
    /// A base that the server will find to be none of its revisions.
    static let unknownBase: Int64 = 0

    /// Puts the waiting edits on the rows of a replica that started over. The revisions from before may be numbers of
    /// another history, or older than the log, so a base counts only where the record is still as it was.
    mutating func rebase(onto rows: ReplicaRows) {
        acknowledged.removeAll()
        for place in pending.indices where pending[place].baseRev != nil {
            let found = rows[pending[place].edit.key]
            let isUnchanged = found != nil && found?.fields == pending[place].base?.fields
            if isUnchanged { pending[place].base = found }
            pending[place].baseRev = isUnchanged ? found?.rev : Self.unknownBase
        }
    }
}
