import Foundation
import GRDB
import ReplicaStorage
import ValueTree

#if canImport(CryptoKit)
    import CryptoKit
#else
    import Crypto
#endif

/// The bytes that records name by their digests: files on the device, sealed where there is a cipher, and on their way to
/// the server until it has them.
actor ReplicaAttachmentStore {
    private let folder: URL
    private let database: ReplicaDatabase
    private let exchange: AttachmentExchange
    private let limits: SyncLimits

    init(_ folder: URL, _ database: ReplicaDatabase, _ session: Session, _ limits: SyncLimits) throws {
        (self.folder, self.database, self.limits) = (folder, database, limits)
        exchange = AttachmentExchange(session: session, limits: limits)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    /// Keeps the bytes and remembers to upload them.
    ///
    /// - Returns: the digest, for the record's field.
    func add(_ bytes: [UInt8]) throws -> String {
        guard bytes.count <= limits.largestAttachment else {
            throw ClientError.refused(
                Refusal(status: 413, code: "request.tooLarge", message: "The attachment is too large."))
        }
        let digest = Self.digest(bytes)
        return try storing {
            try write(bytes, digest)
            try database.pool.write {
                try $0.execute(sql: "INSERT OR REPLACE INTO uploads (digest) VALUES (?)", arguments: [digest])
            }
            return digest
        }
    }

    /// From the device; else from the server, and then kept.
    func bytes(_ digest: String) async throws -> [UInt8] {
        if let bytes = try storing({ try read(digest) }) { return bytes }
        let bytes = try await exchange.download(digest)
        guard Self.digest(bytes) == digest else {
            throw ClientError.unreadableAnswer("an attachment that is not what its digest says")
        }
        try storing { try write(bytes, digest) }
        return bytes
    }

    /// Forgets what can be fetched again.
    func removeDownloads() throws {
        try storing {
            let waiting = try database.pool.read { try Set(String.fetchAll($0, sql: "SELECT digest FROM uploads")) }
            for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) where !waiting.contains(name) {
                try FileManager.default.removeItem(at: folder.appendingPathComponent(name))
            }
        }
    }

    /// Uploads what waits. One that the server will not take is passed over from then on: a record that names it is
    /// rejected by itself and holds up nothing.
    func upload() async throws {
        let sql = "SELECT digest FROM uploads WHERE refused IS NULL"
        let waiting = try storing { try database.pool.read { try String.fetchAll($0, sql: sql) } }
        for digest in waiting {
            do {
                if let bytes = try storing({ try read(digest) }) { try await exchange.upload(bytes, digest) }
                try settle(digest, "DELETE FROM uploads WHERE digest = ?2")
            } catch ClientError.refused(let refusal) where [400, 403, 404, 413].contains(refusal.status) {
                try settle(digest, "UPDATE uploads SET refused = ?1 WHERE digest = ?2", refusal.code)
            }
        }
    }

    private func settle(_ digest: String, _ sql: String, _ code: String? = nil) throws {
        try storing {
            try database.pool.write { try $0.execute(literal: "\(sql: sql, arguments: [code, digest])") }
        }
    }

    private func read(_ digest: String) throws -> [UInt8]? {
        let url = folder.appendingPathComponent(digest)
        guard Self.isDigest(digest), FileManager.default.fileExists(atPath: url.path) else { return nil }
        let bytes = [UInt8](try Data(contentsOf: url))
        return try database.coding.cipher?.open(bytes, context: Array(digest.utf8)) ?? bytes
    }

    private func write(_ bytes: [UInt8], _ digest: String) throws {
        let sealed = try database.coding.cipher?.seal(bytes, context: Array(digest.utf8)) ?? bytes
        try DurableFile.write(sealed, to: folder.appendingPathComponent(digest))
    }

    private static func digest(_ bytes: [UInt8]) -> String {
        Hexadecimal.text(SHA256.hash(data: bytes))
    }

    /// Whether a text of a record names a file, and nothing else.
    static func isDigest(_ text: String) -> Bool {
        text.utf8.count == 64 && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }
}
