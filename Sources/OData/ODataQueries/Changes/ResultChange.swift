import AdapterKit

/// What has become of one row of a result.
public indirect enum ResultChange: Sendable {
    /// It is there, new or changed: all of it, and what it expands.
    case whole(ResultRow)
    /// It is as it was, but entities that it expands are not: for each of the shape's expansions what has changed.
    case within(ResultRow, [[ResultChange]])
    /// It is no row of the result any more.
    case gone(RecordID, GoneReason)
}

public enum GoneReason: String, Sendable {
    /// Nobody has it any more.
    case deleted
    /// It is no longer among those that were asked for, or the reader sees it no more.
    case changed
}

/// Changes of a result, as many as one answer holds.
public struct ChangesPage: Sendable {
    public let shape: ResultShape
    /// What is gone comes first.
    public let changes: [ResultChange]
    /// To go on from.
    public let mark: ChangeCursor
    /// Whether there is nothing more.
    public let isComplete: Bool
}
