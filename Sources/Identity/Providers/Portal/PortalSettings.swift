import AdapterKit

/// A portal that people sign in to with a form, such as SAP's.
public struct PortalSettings: Sendable {
    public var name: ProviderName
    /// Where the form is posted to.
    public var form: UpstreamAddress
    /// Asked first, for the cookies that the form must bring along; nil: none.
    public var page: UpstreamAddress?
    public var userField = "j_user"
    public var passwordField = "j_password"
    /// Further members of the form, as they are.
    public var extraFields: [(name: String, value: String)] = []
    /// What the portal takes the gateway for; some refuse what they do not know.
    public var userAgent = "Portico"
    /// The cookie that says that somebody is signed in.
    public var cookie = "MYSAPSSO2"
    /// A page that only signed-in callers get, with 2xx: asked after the form, it decides. Nil: the cookie does.
    public var proof: UpstreamAddress?
    /// Where a token against cross-site requests is fetched; nil: at the address that is written to.
    public var tokenPage: UpstreamAddress?
    public var roles = RoleMapping()
    /// Sign-ins that are kept for calls; at one more, the one used longest ago goes.
    public var keptSignIns = 10_000
    /// How many passwords it is asked at once; further ones wait, in fair shares by address and by name.
    public var signInsAtOnce = 8

    public init(name: ProviderName, form: UpstreamAddress) {
        self.name = name
        self.form = form
    }

    /// How many redirects a sign-in may take.
    static let maximumHops = 10
    static let maximumPassword = 1024
    /// How much of a page is searched for the form, in bytes.
    static let maximumPage = 1 << 20
}
