/// Where the credentials of a sign-in are kept: the keychain, a protected file, or nowhere. One storage belongs to one
/// server and one installation.
///
/// What every storage promises: what was saved last is what is loaded, after a crash as well; after ``delete()`` nothing
/// is. Called by one session, never at the same time. Errors are told to the app as ``ClientError/storage(_:)``.
public protocol CredentialStorage: Sendable {
    /// Nil where nothing is kept, or what is kept cannot be understood.
    func load() async throws -> StoredCredentials?
    func save(_ credentials: StoredCredentials) async throws
    func delete() async throws
}

/// Forgets everything when the program ends.
public actor CredentialsInMemory: CredentialStorage {
    private var credentials: StoredCredentials?

    public init() {}

    public func load() -> StoredCredentials? { credentials }
    public func save(_ credentials: StoredCredentials) { self.credentials = credentials }
    public func delete() { credentials = nil }
}
