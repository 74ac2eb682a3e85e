import SyncMessages

/// Rows that a device does not hold in memory: a database has them, as of the last entry that it stored.
///
/// Where something cannot be read, it answers as if nothing were there and remembers that it failed; whoever runs the
/// device looks for that after each step, throws the step away and makes a new device from what is stored.
public protocol KeptRows: AnyObject, Sendable {
    func record(_ key: RecordKey) -> RecordCopy?
    func revision(_ key: RecordKey) -> Int64?
    /// In no particular order.
    func records(of collection: String) -> [RecordCopy]
    /// Of each collection that has records.
    func checksums() -> [String: ScopeChecksum]
}
