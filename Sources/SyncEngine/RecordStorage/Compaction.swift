import AdapterKit

/// How much of the log may go.
public enum CompactionBound: Sendable, Equatable {
    /// Everything up to this operation id, itself included.
    case through(Revision)
    /// Everything that was written before this instant, up to the first entry that was not.
    case before(WireDate)
}

/// What a compaction removed, or would remove.
///
/// Records stay as they are: what goes is the way there. A replica whose position is below the floor starts over.
public struct Compaction: Sendable, Equatable {
    /// The store's floor afterwards; it never sinks.
    public let floor: Revision
    /// Log entries, the tombstones of deleted records among them.
    public let entries: Int
    /// Stored outcomes of pushes. The last of each client is kept.
    public let outcomes: Int

    public init(floor: Revision, entries: Int, outcomes: Int) {
        self.floor = floor
        self.entries = entries
        self.outcomes = outcomes
    }
}

extension PorticoError {
    /// `sync.fetchAgain`: the log no longer reaches back to where a replica stands.
    public static func belowFloor(_ floor: Revision) -> PorticoError {
        PorticoError(
            .fetchAgain, "The log does not reach back that far; fetch everything again.",
            logDetail: "the floor is \(floor)")
    }
}
