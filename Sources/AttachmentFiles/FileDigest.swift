import AdapterKit
import Crypto
import Foundation

/// SHA-256 of a file's bytes, which are read piece by piece.
enum FileDigest {
    private static let piece = 256 << 10

    static func of(_ place: URL) throws -> String { try read(place) { _ in } }

    /// Copies the file meanwhile; durable.
    static func copying(_ place: URL, to copy: URL) throws -> String {
        _ = FileManager.default.createFile(atPath: copy.path, contents: nil, attributes: [.posixPermissions: 0o600])
        let target = try FileHandle(forWritingTo: copy)
        defer { try? target.close() }
        let digest = try read(place) { try target.write(contentsOf: $0) }
        try target.synchronize()
        return digest
    }

    private static func read(_ place: URL, _ take: (Data) throws -> Void) throws -> String {
        let file = try FileHandle(forReadingFrom: place)
        defer { try? file.close() }
        var hash = SHA256()
        while let piece = try file.read(upToCount: piece), !piece.isEmpty {
            hash.update(data: piece)
            try take(piece)
        }
        return Hexadecimal.text(hash.finalize())
    }
}
