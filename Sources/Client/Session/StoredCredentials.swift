import Foundation
import ValueTree
import WireFormats

/// Data that keep an account signed in between two starts. The password is never part of it.
public struct StoredCredentials: Sendable, Equatable {
    /// Whose credentials they are.
    public let account: Account
    /// Nil once the sign-in has ended: whose device it is stays known, so that what is on it stays readable.
    public let tokens: Tokens?

    /// Tokens that requests are authenticated with.
    public struct Tokens: Sendable, Equatable {
        /// The access token.
        public let access: String
        /// Seconds since 1970, by this device's clock.
        public let accessEnds: Double
        /// Good for one refresh.
        public let refresh: String

        /// `accessEnds` in seconds since 1970, by this device's clock.
        public init(access: String, accessEnds: Double, refresh: String) {
            self.access = access
            self.accessEnds = accessEnds
            self.refresh = refresh
        }
    }

    /// `tokens` nil: the session is over, the account is known.
    public init(account: Account, tokens: Tokens?) {
        self.account = account
        self.tokens = tokens
    }

    /// For a storage that keeps bytes: one CBOR document.
    public var bytes: [UInt8] {
        var members: WireDictionary = ["account": account.wireValue]
        if let tokens {
            members["access"] = .string(tokens.access)
            members["accessEnds"] = .double(tokens.accessEnds)
            members["refresh"] = .string(tokens.refresh)
        }
        // Texts and a number are what every document carries.
        return (try? CBORFormat().write(.dictionary(members))) ?? []
    }

    /// Nil where the bytes are not what ``bytes`` wrote: anyone who finds that signs in again.
    public init?(bytes: [UInt8]) {
        guard let value = try? CBORFormat().read(bytes), let account = Account(value["account"]) else { return nil }
        self.init(account: account, tokens: Tokens(value))
    }
}

extension StoredCredentials.Tokens {
    fileprivate init?(_ value: WireValue) {
        guard let access = value["access"]?.stringValue, let ends = value["accessEnds"]?.doubleValue,
            let refresh = value["refresh"]?.stringValue
        else { return nil }
        self.init(access: access, accessEnds: ends, refresh: refresh)
    }
}

extension StoredCredentials: CustomStringConvertible, CustomReflectable {
    /// Without the tokens, so that a log never has them.
    public var description: String { "credentials of \(account.name)" }
    public var customMirror: Mirror { Mirror(self, children: ["account": account.name]) }
}

extension StoredCredentials.Tokens: CustomStringConvertible, CustomReflectable {
    public var description: String { "tokens" }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// Where the credentials of a sign-in are kept: the keychain, a protected file, or nowhere. One storage belongs to one
/// server and one installation.
///
/// What every storage promises: what was saved last is what is loaded, after a crash as well; after ``delete()`` nothing
/// is. Called by one session, never at the same time. Errors are reported to the app as ``ClientError/storage(_:)``.
public protocol CredentialStorage: Sendable {
    /// Nil where nothing is kept, or what is kept cannot be understood.
    func load() async throws -> StoredCredentials?
    /// Stores them in place of others.
    func save(_ credentials: StoredCredentials) async throws
    /// Removes them.
    func delete() async throws
}

/// Forgets everything when the program ends.
public actor CredentialsInMemory: CredentialStorage {
    private var credentials: StoredCredentials?

    /// Nothing is stored.
    public init() {}

    public func load() -> StoredCredentials? { credentials }
    public func save(_ credentials: StoredCredentials) { self.credentials = credentials }
    public func delete() { credentials = nil }
}

/// Keeps credentials in a file that its owner alone may read. For programs where there is no keychain; on Apple's
/// platforms use ``CredentialKeychain``.
public struct CredentialFile: CredentialStorage {
    private let url: URL

    /// Stores them in that file, readable by its owner only.
    public init(_ url: URL) {
        self.url = url
    }

    public func load() throws -> StoredCredentials? {
        guard FileManager.default.fileExists(atPath: url.path) else { return nil }
        return StoredCredentials(bytes: [UInt8](try Data(contentsOf: url)))
    }

    /// After a crash there is the old one or the new one.
    public func save(_ credentials: StoredCredentials) throws {
        try DurableFile.write(credentials.bytes, to: url)
    }

    public func delete() throws {
        guard FileManager.default.fileExists(atPath: url.path) else { return }
        try FileManager.default.removeItem(at: url)
    }
}
