import SyncMessages

/// An action for a device, to be done in this order. A crash between two of them loses nothing.
public enum DeviceAction: Sendable, Equatable {
    /// To be made durable before the actions after it are carried out.
    case persist(JournalEntry)
    /// To be put where the rows are kept, apart from them, and then ``Device/pieceIsStaged()`` to be called. It need not be
    /// durable, and comes after the request for the page behind it, so that both can be under way.
    case stage(StagedPiece)
    /// Send the pull, and call ``Device/pulled(_:_:)`` with the answer.
    case pull(RequestNumber, PullRequest)
    /// Send the push, and call ``Device/pushed(_:_:)`` with the answer.
    case push(RequestNumber, PushRequest)
    /// Call ``Device/wake()`` after that time.
    case wake(after: Duration)
    /// Tell the app.
    case report(DeviceReport)
}

/// Tells answers apart: one that no caller waits for any more is passed over.
public struct RequestNumber: Sendable, Hashable {
    /// Counted by the device.
    public let number: Int

    /// Names a request.
    public init(_ number: Int) {
        self.number = number
    }
}

/// A report that the app should have.
public enum DeviceReport: Sendable, Equatable {
    /// The rows are those of another checkpoint. Where the device started over, everything may be different.
    case pulled(startedOver: Bool)
    /// Records have other ids from now on, because another system chose their keys; edits that wait are those of the new ids.
    case moved([RecordKey: String])
    /// An edit got its outcome, named by the edit's number; conflicts and rejections wait in ``Outbox/setAside``.
    case settled(Int64, MutationOutcome)
    /// Nothing is sent until ``Device/signedIn()``. Nothing is dropped.
    case signInNeeded
    /// The server's answers contradict each other; tried again with the next pull.
    case scopesDisagree([String])
    /// The server refuses the whole push; tried again later.
    case pushRefused(String)
}

/// The reply to a pull that was sent.
public enum PullReply: Sendable, Equatable {
    /// A page of the answer.
    case page(PullPage)
    /// 410, `sync.fetchAgain`.
    case fetchAgain
    /// 401: sign in and try again.
    case unauthorized
    /// No answer, or one that says to try later.
    case unavailable
}

/// The reply to a push that was sent.
public enum PushReply: Sendable, Equatable {
    /// The outcomes.
    case answer(PushResponse)
    /// 410, `sync.fetchAgain`.
    case fetchAgain
    /// 401: sign in and try again.
    case unauthorized
    /// No answer, or one that says to try later. Whether the server got the push is unknown.
    case unavailable
    /// Any other refusal of the whole batch, with the server's reason.
    case refused(String)
}

/// Limits of a device's work at once, and the collections that it carries.
public struct DeviceLimits: Sendable, Equatable {
    /// Nil: every collection that the identity may see.
    public var collections: [String]?
    /// Operations in one page.
    public var pageOperations: Int
    /// Records that a pull gathers in memory before they are staged; of rows that are kept elsewhere.
    public var gatheredRecords: Int
    /// Mutations in one push.
    public var batchMutations: Int
    /// Edits that wait for an outcome.
    public var pendingEdits: Int
    /// Times that one pull fetches scopes again whose checksums disagree, before it gives up until the next one.
    public var refetches: Int
    /// The first pause after an answer that did not come, and the longest; it doubles in between.
    public var pauses: ClosedRange<Duration>

    /// Creates limits; what is not named has its default.
    public init(
        collections: [String]? = nil, pageOperations: Int = 500, gatheredRecords: Int = 2_000,
        batchMutations: Int = 100, pendingEdits: Int = 10_000, refetches: Int = 3,
        pauses: ClosedRange<Duration> = .seconds(1)...(.seconds(300))
    ) {
        self.collections = collections
        self.pageOperations = pageOperations
        self.gatheredRecords = gatheredRecords
        self.batchMutations = batchMutations
        self.pendingEdits = pendingEdits
        self.refetches = refetches
        self.pauses = pauses
    }

    func pause(afterFailures failures: Int) -> Duration {
        min(pauses.upperBound, pauses.lowerBound * (1 << min(failures, 16)))
    }
}
