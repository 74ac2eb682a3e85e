import AdapterKit
import SyncEngine

/// How devices sync, each value by its name in the configuration reference.
public struct SyncSettings: Sendable, Equatable {
    public var pages = PullLimits()
    /// `sync.limits.mutations`: of one push.
    public var mutations = 1_000
    /// `limits.streamsPerPrincipal`: live streams and long polls of one principal at once.
    public var streamsPerPrincipal = 32
    /// `sync.limits.streams`: of all together.
    public var streams = 20_000
    /// `sync.live.heartbeat`: the longest silence on a stream.
    public var heartbeat = Duration.seconds(25)
    /// `sync.live.longestPoll`: how long a long poll waits at most.
    public var longestPoll = Duration.seconds(25)
    /// `sync.live.page`: operations of one event.
    public var livePage = 200

    /// `sync.limits.attachment`: bytes of an attachment.
    public var largestAttachment = 256 << 20
    /// `sync.offlineWindow`: how long the log reaches back.
    public var offlineWindow = Duration.seconds(30 * 86_400)

    public init() {}
}
