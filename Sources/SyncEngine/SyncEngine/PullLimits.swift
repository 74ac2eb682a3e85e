/// How much one page costs at most.
public struct PullLimits: Sendable, Equatable {
    /// `sync.limits.page`: operations in a page of which the device says nothing.
    public var page = 1_000
    /// `sync.limits.largestPage`: operations in a page, whatever the device asks for.
    public var largestPage = 10_000
    /// `sync.limits.pageBytes`: about how large a page's records are together; one record may be larger.
    public var pageBytes = 8 << 20
    /// `sync.limits.scan`: log entries that are looked at for one page.
    public var scan = 20_000
    /// `sync.limits.regrant`: rows that a change of a group's members moves within one page; more, and the scope is
    /// fetched again.
    public var regrant = 2_000

    public init() {}

    func operations(asked: Int?) -> Int { min(max(asked ?? page, 1), largestPage) }
}
