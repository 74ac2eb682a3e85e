import AdapterKit
import Crypto

/// A backup's folder as a restore takes it: only regular files, each of them listed and each listed one there.
public struct BackupFolder: Sendable {
    /// What a restore does with what is not as it should be.
    public struct Tolerance: Sendable {
        /// Takes a backup without a list, as earlier versions made them.
        public var missingList: Bool
        /// Leaves out attachments that are missing or damaged.
        public var damagedAttachments: Bool

        public init(missingList: Bool = false, damagedAttachments: Bool = false) {
            self.missingList = missingList
            self.damagedAttachments = damagedAttachments
        }
    }

    public static let storeName = "portico.sqlite"
    public static let attachmentsName = "attachments"

    /// Paths of attachments: `attachments/ab/abcd…`.
    public let attachments: [String]
    /// Of those that are listed and not there; none unless that is tolerated.
    public let missing: [String]
    public let tolerance: Tolerance
    private let tree: FileTree
    private let list: BackupList?

    /// Opens nothing but the list. Throws ``PorticoError``: `record.notFound` where there is no backup, `request.invalid`
    /// naming the file at fault.
    public init(_ directory: String, tolerating tolerance: Tolerance = Tolerance()) throws(PorticoError) {
        tree = try FileTree(directory)
        self.tolerance = tolerance
        guard tree.holds(Self.storeName) else {
            throw PorticoError(.recordNotFound, "There is no backup in this directory.", target: "directory")
        }
        let files = Set(try tree.files())
        list = try Self.list(of: tree, files, tolerance)
        let foreign = files.subtracting([Self.storeName, BackupList.fileName]).filter { !Self.isAttachment($0) }
        if let file = foreign.min() { throw FileTree.refusal(file, "belongs to no backup") }
        var missing: [String] = []
        if let list {
            let found = files.subtracting([BackupList.fileName])
            if let file = found.first(where: { list.digests[$0] == nil }) {
                throw FileTree.refusal(file, "is not listed")
            }
            missing = list.digests.keys.filter { !found.contains($0) }.sorted()
        }
        if let file = missing.first, !tolerance.damagedAttachments { throw FileTree.refusal(file, "is missing") }
        self.missing = missing
        attachments = files.filter(Self.isAttachment).sorted()
    }

    /// Into a new file of mode 0600, durably. False, and no file, where the bytes are not what the list says.
    public func copy(_ path: String, to target: String) throws(PorticoError) -> Bool {
        let digest = try tree.copy(path, to: target)
        guard list == nil || list?.digests[path] == digest else {
            try DurableFiles.remove(target)
            return false
        }
        return true
    }

    private static func list(
        of tree: FileTree, _ files: Set<String>, _ tolerance: Tolerance
    ) throws(PorticoError) -> BackupList? {
        guard files.contains(BackupList.fileName) else {
            if tolerance.missingList { return nil }
            throw PorticoError(
                .requestInvalid,
                "The backup has no list of its files (\(BackupList.fileName)), as backups of earlier versions have none; "
                    + "--without-list restores it unchecked.", target: "directory")
        }
        let bytes = try tree.contents(of: BackupList.fileName, limit: BackupList.maximumBytes)
        guard let list = BackupList(bytes) else { throw FileTree.refusal(BackupList.fileName, "is malformed") }
        return list
    }

    /// Its name is its digest, below a folder of the first two digits.
    private static func isAttachment(_ path: String) -> Bool {
        let parts = BackupList.names(path, omittingEmptyOnes: false)
        return parts.count == 3 && parts[0] == attachmentsName && SHA256Text.isDigest(parts[2])
            && parts[2].hasPrefix(parts[1]) && parts[1].utf8.count == 2
    }
}

/// The files of a backup with their SHA-256 digests: the file `SHA256SUMS` in it, which `sha256sum -c` reads too.
///
/// It finds damage and mistakes. It is no signature: the caller that can change a backup can change its list.
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

    /// Taken apart by bytes, as the file system does: `/` and a combining mark after it are one `Character`.
    static func names(_ path: some StringProtocol, omittingEmptyOnes: Bool = true) -> [String] {
        path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: omittingEmptyOnes)
            .map { String(decoding: $0, as: UTF8.self) }
    }

    /// Whether a path leads into the directory and nowhere else.
    static func isWithin(_ path: some StringProtocol) -> Bool {
        path.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F }
            && names(path, omittingEmptyOnes: false).allSatisfy { !$0.isEmpty && $0 != "." && $0 != ".." }
    }
}

/// SHA-256 of bytes that come piece by piece, as 64 hexadecimal digits in lower case.
public struct SHA256Text {
    private var hash = SHA256()

    public init() {}

    public mutating func update(_ bytes: UnsafeRawBufferPointer) { hash.update(bufferPointer: bytes) }

    public func finish() -> String { Hexadecimal.text(hash.finalize()) }

    /// Whether a text is one.
    public static func isDigest(_ text: some StringProtocol) -> Bool {
        text.utf8.count == 64 && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }
}
