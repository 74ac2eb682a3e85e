import SyncMessages

/// Rows that a device does not hold in memory: a database has them, as of the last entry that it stored.
///
/// Apart from them it has what is staged (``DeviceAction/stage(_:)``): pieces of a pull that is not complete. Nobody but
/// the device sees those, and a crash may lose them.
///
/// Where something cannot be read, it answers as if nothing were there and remembers that it failed; whoever runs the
/// device looks for that after each step, throws the step away and makes a new device from what is stored.
public protocol PersistedRows: AnyObject, Sendable {
    func record(_ key: RecordKey) -> RecordCopy?
    func revision(_ key: RecordKey) -> Int64?
    /// In no particular order.
    func records(of collection: String) -> [RecordCopy]
    /// Of each collection that has records.
    func checksums() -> [String: ScopeChecksum]

    /// What is staged of the record: nil: nothing; a nil in it: that it goes.
    func staged(_ key: RecordKey) -> RecordCopy??
    /// The revision of ``staged(_:)``.
    func stagedRevision(_ key: RecordKey) -> Int64??
    /// All that is staged of a collection; nil: the record goes.
    func staged(of collection: String) -> [RecordKey: RecordCopy?]
}
