import Foundation

/// A file that is there as a whole or not at all, whatever happens while it is written.
enum DurableFile {
    /// Beside it, readable by its owner alone, and then renamed.
    static func write(_ bytes: [UInt8], to url: URL) throws {
        let fresh = url.appendingPathExtension("new")
        try? FileManager.default.removeItem(at: fresh)
        // Created with its permissions, so that there is no moment when others can open it.
        let isCreated = FileManager.default.createFile(
            atPath: fresh.path, contents: nil, attributes: [.posixPermissions: 0o600])
        guard isCreated else { throw CocoaError(.fileWriteUnknown) }
        let file = try FileHandle(forWritingTo: fresh)
        try file.write(contentsOf: Data(bytes))
        try file.synchronize()
        try file.close()
        guard rename(fresh.path, url.path) == 0 else { throw CocoaError(.fileWriteUnknown) }
    }
}
