import Foundation

/// A gateway, as an app sees it: signing in, and the records of anyone who did, with and without a network.
///
///     let settings = PorticoSettings(replica: ReplicaSettings(collections: ["notes"]))
///     let portico = try await Portico.open(ServerAddress("https://gateway.example")!, in: folder, settings: settings)
///     try await portico.signIn(name: "alice", password: password)
///     for try await notes in try await portico.replica().observe(RecordQuery("notes")) { show(notes) }
///
/// Each account has a replica of its own on the device. It stays when a sign-in ends, and goes with ``signOut()``.
public actor Portico {
    /// The sign-in that calls are made with.
    public nonisolated let session: Session
    private let folder: URL
    private let settings: PorticoSettings
    private var opened: (account: Account, replica: Replica)?
    private var reachability: Task<Void, Never>?

    /// Opens what is kept in the folder, without the network. Anyone who was signed in still is.
    ///
    /// - Throws: ``ClientError/storage(_:)``.
    public static func open(
        _ server: ServerAddress, in folder: URL, settings: PorticoSettings = PorticoSettings()
    ) async throws -> Portico {
        let portico = try Portico(server, folder, settings)
        if let account = try await portico.session.account() { try await portico.open(account) }
        return portico
    }

    private init(_ server: ServerAddress, _ folder: URL, _ settings: PorticoSettings) throws {
        try storing { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) }
        self.folder = folder
        self.settings = settings
        session = Session(
            server: server, transport: settings.transport,
            storage: settings.credentials ?? CredentialFile(folder.appendingPathComponent("credentials")))
    }

    /// The account that is signed in, or was when the sign-in ended.
    public var account: Account? { opened?.account }

    /// The records of ``account``: those of ``ReplicaSettings/collections``, or all that it may read.
    ///
    /// - Throws: ``ClientError/notSignedIn``.
    public func replica() throws -> Replica {
        guard let replica = opened?.replica else { throw ClientError.notSignedIn }
        return replica
    }

    /// Signs in and starts syncing. Another account than before has a replica of its own; what waits in the one before
    /// stays there until it is back.
    ///
    /// - Throws: as ``Session/signIn(name:password:)``.
    @discardableResult
    public func signIn(name: String, password: String) async throws -> Account {
        let account = try await session.signIn(name: name, password: password)
        if let opened, opened.account.id == account.id {
            await opened.replica.signedIn()
        } else {
            try await open(account)
        }
        return account
    }

    /// Signs out and removes the account's records from this device, edits that were not sent included: look at
    /// ``SyncStatus/waiting`` before.
    public func signOut() async throws {
        let gone = opened
        opened = nil
        await gone?.replica.close()
        try await session.signOut()
        if let gone { try storing { try FileManager.default.removeItem(at: place(of: gone.account)) } }
    }

    /// Ends everything; the sign-in and the records stay for the next time.
    public func close() async {
        reachability?.cancel()
        await opened?.replica.close()
        opened = nil
    }
}

extension Portico {
    private func open(_ account: Account) async throws {
        await opened?.replica.close()
        opened = nil
        let replica = try Replica(in: place(of: account), session: session, settings: settings.replica)
        opened = (account, replica)
        if settings.startsByItself { await replica.start() }
        watchReachability()
    }

    private func place(of account: Account) -> URL {
        folder.appendingPathComponent("accounts").appendingPathComponent(account.id.urlEscaped, isDirectory: true)
    }

    private func watchReachability() {
        guard let hints = settings.reachability, reachability == nil else { return }
        reachability = Task {
            for await _ in hints.networkAppearances() { await self.opened?.replica.networkMayBeBack() }
        }
    }
}

/// Choices that an app makes once.
public struct PorticoSettings: Sendable {
    /// The transport of requests.
    public var transport: any Transport
    /// Nil: a file in the folder that its owner alone may read. On Apple's platforms use ``CredentialKeychain``.
    public var credentials: (any CredentialStorage)?
    /// Settings of the replica.
    public var replica: ReplicaSettings
    /// Tells when the network is back; nil: found out by trying.
    public var reachability: (any Reachability)?
    /// Whether a replica starts to sync when it is opened.
    public var startsByItself: Bool

    /// Creates settings; what is not named has its default.
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
