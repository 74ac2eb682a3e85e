/// What an app decides once.
public struct PorticoSettings: Sendable {
    public var transport: any Transport
    /// Nil: a file in the folder that its owner alone may read. On Apple's platforms use ``CredentialKeychain``.
    public var credentials: (any CredentialStorage)?
    public var replica: ReplicaSettings
    public var reachability: (any Reachability)?
    /// Whether a replica starts to sync when it is opened.
    public var startsByItself: Bool

    public init(
        transport: any Transport = URLSessionTransport(), credentials: (any CredentialStorage)? = nil,
        replica: ReplicaSettings = ReplicaSettings(), reachability: (any Reachability)? = nil,
        startsByItself: Bool = true
    ) {
        self.transport = transport
        self.credentials = credentials
        self.replica = replica
        self.reachability = reachability
        self.startsByItself = startsByItself
    }
}
