import Foundation

/// Keeps credentials in a file that its owner alone may read. For programs where there is no keychain; on Apple's
/// platforms use ``CredentialKeychain``.
public struct CredentialFile: CredentialStorage {
    private let url: URL

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
