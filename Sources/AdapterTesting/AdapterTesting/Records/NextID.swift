import AdapterKit

extension MemoryTables.Table {
    /// The id of a record that nobody chose one for. Numbers go on from the largest; texts are numbered too, so that a
    /// test knows them.
    func nextID() -> RecordID {
        guard case .integer? = entity.field(entity.key.field)?.shape else {
            var number = rows.count + 1
            while rows[RecordID(unchecked: "\(entity.name)-\(number)")] != nil { number += 1 }
            return RecordID(unchecked: "\(entity.name)-\(number)")
        }
        let largest = rows.keys.compactMap { Int64($0.text) }.max() ?? 0
        return RecordID(unchecked: String(largest + 1))
    }
}
