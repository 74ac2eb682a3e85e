import AdapterKit
import RecordStorage
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
    /// `sync.limits.attachments`: bytes of all of them.
    public var attachments = 64 << 30
    /// `sync.limits.uploads`: uploads under way.
    public var uploads = 10_000
    /// `sync.limits.uploadsPerPrincipal`: those of one principal.
    public var uploadsPerPrincipal = 32
    /// `sync.limits.unnamedPerPrincipal`: bytes that one principal has uploaded and no record names.
    public var unnamedPerPrincipal = 8 << 30
    /// `sync.attachments.window`: how long an attachment stays that no record names, and an upload that nobody goes on
    /// with.
    public var attachmentWindow = Duration.seconds(7 * 86_400)
    /// `sync.keptCopies`: how long what lost a conflict or was rejected is kept.
    public var keptCopies = Duration.seconds(90 * 86_400)
    /// `sync.offlineWindow`: how long the log reaches back.
    public var offlineWindow = Duration.seconds(30 * 86_400)

    public init() {}
}
