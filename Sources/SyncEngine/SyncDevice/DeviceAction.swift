import SyncMessages

/// What is to be done for a device, in this order. A crash between two of them loses nothing.
public enum DeviceAction: Sendable, Equatable {
    /// To be made durable before the actions after it are carried out.
    case persist(JournalEntry)
    /// To be put where the rows are kept, apart from them, and then ``Device/pieceIsStaged()`` to be called. It need not be
    /// durable, and comes after the request for the page behind it, so that both can be under way.
    case stage(StagedPiece)
    case pull(RequestNumber, PullRequest)
    case push(RequestNumber, PushRequest)
    /// Call ``Device/wake()`` after that time.
    case wake(after: Duration)
    case report(DeviceReport)
}

/// Tells answers apart: one that nobody waits for any more is passed over.
public struct RequestNumber: Sendable, Hashable {
    public let number: Int

    public init(_ number: Int) {
        self.number = number
    }
}

/// What the app should know.
public enum DeviceReport: Sendable, Equatable {
    /// The rows are those of another checkpoint. Where the device started over, everything may be different.
    case pulled(startedOver: Bool)
    /// An edit got its outcome, named by the edit's number; conflicts and rejections wait in ``Outbox/setAside``.
    case settled(Int64, MutationOutcome)
    /// Nothing is sent until ``Device/signedIn()``. Nothing is dropped.
    case signInNeeded
    /// The server's answers contradict each other; tried again with the next pull.
    case scopesDisagree([String])
    /// The server refuses the whole push; tried again later.
    case pushRefused(String)
}

/// What came of a pull that was sent.
public enum PullReply: Sendable, Equatable {
    case page(PullPage)
    /// 410, `sync.fetchAgain`.
    case fetchAgain
    /// 401: sign in and try again.
    case unauthorized
    /// No answer, or one that says to try later.
    case unavailable
}

/// What came of a push that was sent.
public enum PushReply: Sendable, Equatable {
    case answer(PushResponse)
    case fetchAgain
    case unauthorized
    /// No answer, or one that says to try later. Whether the server got the push is unknown.
    case unavailable
    /// Any other refusal of the whole batch, with the server's reason.
    case refused(String)
}
