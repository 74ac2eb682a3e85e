/// A subtree of paths that an adapter answers itself, request by request: for contracts whose URLs are a language of
/// their own, which no table of routes could hold.
///
/// The gateway does before what it does for every request (limits, credentials, access, CSRF, rates, the reach of API keys)
/// and after (request ids, CORS, logs, compression). Beyond access, who may do what is the adapter's to decide from the
/// request's caller.
public struct HTTPMount: Sendable, Equatable {
    /// The mount's name; requests carry it.
    public let name: OperationName
    /// One sentence for descriptions.
    public let summary: String
    /// The root, without a slash at its end: `/odata/v4/admissions`. All paths below it belong to the mount.
    public let path: PathTemplate
    /// Methods other than `HEAD` and `OPTIONS`, which the gateway answers from the others.
    public let methods: [String]
    /// Last segments for which even a `POST` reads: `$query`.
    public let readingPosts: [String]
    /// Whether a signed-in caller's writes need the token of `X-CSRF-Token: Fetch` however the caller signed in, as the
    /// contract of SAP's gateways has it; otherwise only those with a session cookie do.
    public let requiresToken: Bool
    /// The media type of most answers, for descriptions.
    public let mediaType: String
    /// The side that decides whether a caller is let in. With ``OperationAuthorization/byOperation`` the gateway lets every caller in, and
    /// the adapter refuses in its contract's shape.
    public let authorization: OperationAuthorization
    /// The rights to read, in addition to the adapter's access; and to write, instead of the adapter's. Where the adapter
    /// decides, it is for descriptions; what is nil then differs from request to request.
    public let access: AccessRights?
    /// The largest body that is taken, in bytes; nil: the gateway's.
    public let bodyLimit: Int?
    /// Whether the adapter itself finds out how old the mirrored rows of each answer are (``MountRequest/ages``), and says
    /// so in `Age` and `Cache-Status`. Otherwise an answer to a read tells the age of all of the adapter's mirrors.
    public let tellsAge: Bool

    /// Creates an HTTP mount with these values.
    public init(
        _ name: OperationName, summary: String, path: PathTemplate, methods: [String], readingPosts: [String] = [],
        requiresToken: Bool = false, mediaType: String = "application/json",
        authorization: OperationAuthorization = .byAccess, access: AccessRights? = nil, bodyLimit: Int? = nil,
        tellsAge: Bool = false
    ) {
        self.name = name
        self.summary = summary
        self.path = path
        self.methods = methods
        self.readingPosts = readingPosts
        self.requiresToken = requiresToken
        self.mediaType = mediaType
        self.authorization = authorization
        self.access = access
        self.bodyLimit = bodyLimit
        self.tellsAge = tellsAge
    }
}
