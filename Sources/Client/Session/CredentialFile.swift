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

    /// Written beside it and renamed: after a crash there is the old one or the new one.
    public func save(_ credentials: StoredCredentials) throws {
        let fresh = url.appendingPathExtension("new")
        try? FileManager.default.removeItem(at: fresh)
        // Created with its permissions, so that there is no moment when others can open it.
        let isCreated = FileManager.default.createFile(
            atPath: fresh.path, contents: nil, attributes: [.posixPermissions: 0o600])
        guard isCreated else { throw CocoaError(.fileWriteUnknown) }
        let file = try FileHandle(forWritingTo: fresh)
        try file.write(contentsOf: Data(credentials.bytes))
        try file.synchronize()
        try file.close()
        guard rename(fresh.path, url.path) == 0 else { throw CocoaError(.fileWriteUnknown) }
    }

    public func delete() throws {
        guard FileManager.default.fileExists(atPath: url.path) else { return }
        try FileManager.default.removeItem(at: url)
    }
}
