/// An adapter's own records as they come, whichever door they came through: for work that follows a record once it is
/// stored, such as telling people's devices of it.
///
/// Safe to use from any task.
public protocol RecordChanges: Sendable {
    /// The end of the log: what comes now comes after it.
    var position: Revision { get }

    /// Records of an entity that were created after a position and are still there, in the order of their creation.
    ///
    /// Waits until there is one; may return none with a later position all the same. Going on from the position that came
    /// with the last ones, nothing is left out and nothing told twice. Throws `sync.fetchAgain` for a position that the
    /// log does not reach back to, and `CancellationError` where the waiting task is cancelled.
    func created(in entity: EntityName, after position: Revision) async throws -> CreatedRecords
}

public struct CreatedRecords: Sendable, Equatable {
    public let records: [Record]
    /// To go on from.
    public let position: Revision

    public init(records: [Record], position: Revision) {
        self.records = records
        self.position = position
    }
}

/// Where nothing ever comes, in tests that need none.
public struct NoRecordChanges: RecordChanges {
    public init() {}

    public var position: Revision { Revision(0) }

    public func created(in entity: EntityName, after position: Revision) async throws -> CreatedRecords {
        while true { try await Task.sleep(for: .seconds(3600)) }
    }
}
