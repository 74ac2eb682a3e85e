import AdapterKit
import MemoryStore
import RecordStorage

extension MemoryStore {
    /// Everything that is stored, as text: what a thief of the database would see.
    var dump: String { (try? image).map { String(describing: $0) } ?? "" }

    /// All records of one of identity's entities, in the order of their ids.
    func all(_ entity: EntityName) async throws -> [Record] {
        try await query(Query(nil, limit: 500), in: CollectionID("identity", entity)).records
    }

    /// Changes a record behind everybody's back, as somebody with the database file could; nil deletes it.
    func tamper(
        _ id: RecordID, in entity: EntityName, _ change: (WireDictionary) -> WireDictionary?
    ) async throws {
        guard let old = try await record(id, in: CollectionID("identity", entity), visible: nil) else { return }
        let tampered =
            if var fields = change(old.fields) {
                {
                    fields["id"] = nil
                    return RecordChange(entity, .update(id, fields))
                }()
            } else {
                RecordChange(entity, .delete(id))
            }
        _ = try await write(WriteTransaction([.init(adapter: "identity", change: tampered)], author: "thief"))
    }
}
