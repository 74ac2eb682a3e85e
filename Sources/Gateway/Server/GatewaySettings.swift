import AdapterKit
import Identity

/// What the gateway is configured with.
public struct GatewaySettings: Sendable {
    public var limits = GatewayLimits()
    public var cookie = SessionCookieSettings(isSecure: false)
    public var allowsBasic = false
    public var origins: Set<String> = []
    /// Seconds.
    public var preflightMaxAge = 600
    public var version = ""
    public var sync = SyncSettings()
    public var feeds = FeedSettings()
    /// Files for browsers, each at its path.
    public var pages: [PageFile] = []

    public init() {}
}
