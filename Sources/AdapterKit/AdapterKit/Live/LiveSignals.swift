/// Sends events that are no change of a record, such as "is typing", to the streams of an adapter's feeds.
///
/// Returns at once and never fails: a signal that cannot be delivered now is lost. Safe to use from any task.
public protocol LiveSignals: Sendable {
    /// To every member of the group that listens at this moment, but for the account `sender`.
    func signal(
        _ event: EventName, _ data: WireDictionary, in group: RecordID, of feed: LiveFeedName, from sender: String)

    /// The members of the group that listen at this moment, by account name, at most `limit`.
    func listeners(in group: RecordID, of feed: LiveFeedName, limit: Int) -> [String]
}

/// For hosts without live streams: the administration socket and tests.
public struct NoLiveSignals: LiveSignals {
    /// Creates a no live signals.
    public init() {}

    public func signal(
        _ event: EventName, _ data: WireDictionary, in group: RecordID, of feed: LiveFeedName, from sender: String
    ) {}

    public func listeners(in group: RecordID, of feed: LiveFeedName, limit: Int) -> [String] { [] }
}
