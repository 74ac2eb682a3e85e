import AdapterKit

/// `Isolation: snapshot`, which 4.0 calls `OData-Isolation` (Protocol 4.01, section 8.2.6): all pages of an answer and all
/// requests of a batch of one state. One answer is; states are not kept from one request to the next.
enum SnapshotIsolation {
    /// Throws `precondition.failed` where it is asked for.
    static func refuse(_ headers: MountHeaders) throws(PorticoError) {
        for name in ["Isolation", "OData-Isolation"] where headers[name] != nil {
            throw PorticoError(.preconditionFailed, "Snapshots are not isolated across requests.", target: name)
        }
    }
}
