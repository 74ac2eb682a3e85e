import SyncDevice
import SyncMessages
import ValueTree

/// One edit that a device took over, and what it was told of it.
struct EditRecord {
    let device: Int
    let edit: LocalEdit
    /// Stands in every field that the edit writes.
    let mark: String
    /// The record as the person saw it, and the server's part of that.
    let seen: WireDictionary
    let base: WireDictionary
    var fate: Fate?

    struct Fate {
        let outcome: MutationOutcome
        /// The history that the server told it in.
        let epoch: Int
    }
}
