import AdapterKit

/// The files of a backup with their SHA-256 digests: the file `SHA256SUMS` in it, which `sha256sum -c` reads too.
///
/// It finds damage and mistakes. It is no signature: whoever can change a backup can change its list.
public struct BackupList: Sendable, Equatable {
    public static let fileName = "SHA256SUMS"
    /// Beyond it the list is not read: some 1.5 million attachments.
    static let maximumBytes = 256 << 20

    /// By path within the backup.
    private(set) var digests: [String: String]

    init(_ digests: [String: String]) {
        self.digests = digests
    }

    /// Reads every file of the directory. It waits for the disk. Throws ``PorticoError`` where one is no regular file.
    public static func of(_ directory: String) throws(PorticoError) -> BackupList {
        let tree = try FileTree(directory)
        var digests: [String: String] = [:]
        for path in try tree.files() { digests[path] = try tree.digest(of: path) }
        return BackupList(digests)
    }

    /// Durable.
    public func write(into directory: String) throws(PorticoError) {
        let lines = digests.sorted { $0.key < $1.key }.map { "\($0.value)  \($0.key)\n" }
        try DurableFiles.write(Array(lines.joined().utf8), to: "\(directory)/\(Self.fileName)")
    }

    /// Nil where the bytes are no such list, a path leads out of the directory, or two lines name one file.
    init?(_ bytes: [UInt8]) {
        digests = [:]
        for line in bytes.split(separator: UInt8(ascii: "\n")) {
            let text = String(decoding: line, as: UTF8.self)
            let (digest, path) = (text.prefix(64), text.dropFirst(66))
            guard text.utf8.elementsEqual(line), text.dropFirst(64).hasPrefix("  "), SHA256Text.isDigest(digest),
                Self.isWithin(path), digests.updateValue(String(digest), forKey: String(path)) == nil
            else { return nil }
        }
    }

    /// Whether a path leads into the directory and nowhere else.
    static func isWithin(_ path: some StringProtocol) -> Bool {
        path.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F }
            && path.split(separator: "/", omittingEmptySubsequences: false).allSatisfy {
                !$0.isEmpty && $0 != "." && $0 != ".."
            }
    }
}
