/// What an adapter tells the streams of its feeds that is no change of a record, such as that somebody is typing.
///
/// Returns at once and never fails: a signal that cannot be delivered now is lost. Safe to use from any task.
public protocol LiveSignals: Sendable {
    /// To every member of the group that listens at this moment, but for the account `sender`.
    func signal(_ event: EventName, _ data: WireDictionary, in group: RecordID, of feed: FeedName, from sender: String)

    /// The members of the group that listen at this moment, by account name, at most `limit`.
    func listeners(in group: RecordID, of feed: FeedName, limit: Int) -> [String]
}

/// Where nobody listens: at the administration's door and in tests.
public struct NoLiveSignals: LiveSignals {
    public init() {}

    public func signal(
        _ event: EventName, _ data: WireDictionary, in group: RecordID, of feed: FeedName, from sender: String
    ) {}

    public func listeners(in group: RecordID, of feed: FeedName, limit: Int) -> [String] { [] }
}
