import SyncDevice

/// How much a replica does at once. Each has a default that suits a phone.
public struct SyncLimits: Sendable, Equatable {
    /// Records in one page of a pull.
    public var page = 2_000
    /// Records that a pull gathers in memory; more are staged in the replica's file until the pull is complete.
    public var gathered = 2_000
    /// Edits in one push.
    public var batch = 100
    /// Edits that may wait for the server; one more is ``ClientError/outboxFull``.
    public var waitingEdits = 10_000
    /// The first pause after a try that got no answer, and the longest; it doubles in between.
    public var pauses: ClosedRange<Duration> = .seconds(1)...(.seconds(300))
    /// For one page or one batch.
    public var deadline: Duration = .seconds(60)
    /// Bytes of one page.
    public var largestAnswer = 64 << 20
    /// How long one question for news is left open.
    public var livePoll: Duration = .seconds(25)
    /// The longest silence on a live stream, and until it begins; the gateway says something after
    /// `sync.live.heartbeat` (25 s).
    public var liveSilence: Duration = .seconds(60)
    /// Bytes of one attachment, and of one piece of it on its way.
    public var largestAttachment = 256 << 20
    public var attachmentPiece = 1 << 20

    public init() {}

    func device(_ collections: [String]?) -> DeviceLimits {
        DeviceLimits(
            collections: collections, pageOperations: page, gatheredRecords: gathered, batchMutations: batch,
            pendingEdits: waitingEdits, pauses: pauses)
    }
}
