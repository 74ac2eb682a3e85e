import AdapterKit
import MemoryStore
import RecordStorage
import SyncDevice

/// Every change that became durable, seen from outside: what the invariants are checked against.
struct Ledger {
    struct Entry {
        let position: Int64
        let key: RecordKey
        let before: WireDictionary?
        /// Nil: the record went.
        let after: WireDictionary?
    }

    struct Row: Equatable {
        let rev: Int64
        let fields: WireDictionary
    }

    private(set) var entries: [Entry] = []
    private(set) var rows: [RecordKey: Row] = [:]
    /// For each restore, the position it went back to.
    private(set) var cuts: [Int64] = []

    var position: Int64 { entries.last?.position ?? 0 }

    /// Which history positions belong to now.
    var epoch: Int { cuts.count }

    mutating func observe(_ tables: MemoryTables) throws {
        for change in try tables.changes(after: Revision(position), limit: .max) {
            let key = RecordKey(change.collection.entity.text, change.id.text)
            let record = try tables.record(change.id, in: change.collection, visible: nil)
            let after = change.kind == .put ? record?.fields : nil
            entries.append(
                Entry(position: change.position.number, key: key, before: rows[key]?.fields, after: after))
            rows[key] = after.map { Row(rev: change.position.number, fields: $0) }
        }
    }

    mutating func goBack(to position: Int64) {
        cuts.append(position)
        entries.removeAll { $0.position > position }
        rows = [:]
        for entry in entries { rows[entry.key] = entry.after.map { Row(rev: entry.position, fields: $0) } }
    }

    func entry(at position: Int64) -> Entry? {
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].position < position { low = middle + 1 } else { high = middle }
        }
        return low < entries.count && entries[low].position == position ? entries[low] : nil
    }

    /// Whether what was told at that position, in that history, is of the history that there is now.
    func isLost(_ position: Int64, toldIn epoch: Int) -> Bool {
        cuts.dropFirst(epoch).contains { position > $0 }
    }
}
