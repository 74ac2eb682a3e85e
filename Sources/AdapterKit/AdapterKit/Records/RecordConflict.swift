/// A device's change of a record that another device or caller had changed meanwhile, for an adapter to settle
/// (``ConflictPolicy/adapterDecides``).
public struct RecordConflict: Sendable, Equatable {
    /// A change that a device wants.
    public enum Change: Sendable, Equatable {
        /// A record of these fields under an id that is taken.
        case create(WireDictionary)
        /// These fields to be changed.
        case update(WireDictionary)
        /// The record is to be deleted.
        case delete
    }

    /// The entity of the record.
    public let entity: EntityName
    /// The change that the device wants.
    public let change: Change
    /// The record as it is, with every field: what the device may not see is not left out.
    public let current: Record
    /// The fields that others changed since the state that the device knew; nil: the log no longer reaches back to it, or the record
    /// was made anew.
    public let changedSince: Set<FieldName>?
    /// Whose device it is.
    public let caller: Principal

    /// Creates a record conflict with these values.
    public init(
        entity: EntityName, change: Change, current: Record, changedSince: Set<FieldName>?, caller: Principal
    ) {
        self.entity = entity
        self.change = change
        self.current = current
        self.changedSince = changedSince
        self.caller = caller
    }
}

/// The outcome of a conflict.
public enum ConflictResolution: Sendable, Equatable {
    /// The record stays as it is; the push reports a conflict to the device, and what it wrote is kept for operators.
    case keep
    /// These fields are changed instead, on the caller's behalf: the row rules and the entity's shapes hold.
    case change(WireDictionary)
    /// The record is deleted, on the caller's behalf.
    case delete
}
