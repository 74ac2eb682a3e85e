import AdapterKit
import Foundation
import RecordStorage
import SQLiteStore

/// What a copy consists of: the object `manifest.json`, which is written last.
public struct CopyManifest: Sendable, Equatable, Codable {
    /// A file of the gateway beside its store.
    public struct File: Sendable, Equatable, Codable {
        /// Where it goes below the data directory.
        public var path: String
        public var size: Int64
        public var digest: String
        public var isExecutable: Bool
    }

    /// An adapter that the gateway served.
    public struct Adapter: Sendable, Equatable, Codable {
        /// How the gateway came by it.
        public enum Source: String, Sendable, Codable {
            /// Compiled into the gateway.
            case builtIn
            /// A connection file, which is in the copy.
            case connection
            /// An installed package, which is in the copy.
            case package
            /// A program that the configuration names, which is not in the copy.
            case program
        }

        public var name: String
        public var version: String
        public var source: Source
        /// Of a program.
        public var path: String?

        public init(name: String, version: String, source: Source, path: String? = nil) {
            (self.name, self.version, self.source, self.path) = (name, version, source, path)
        }
    }

    /// A certificate that the configuration names. Neither it nor its key is in the copy.
    public struct Certificate: Sendable, Equatable, Codable {
        /// The configuration's key.
        public var key: String
        public var path: String

        public init(key: String, path: String) {
            (self.key, self.path) = (key, path)
        }
    }

    public static let currentFormat = 1

    public var format = currentFormat
    public var name: String
    /// The gateway's version.
    public var version: String
    /// RFC 3339.
    public var begun: String
    public var ended: String
    /// The page log that goes on from this copy.
    public var stream: String
    /// The last piece before the copy was begun, and its digest: the pieces after it belong to the copy.
    public var after: Int64
    public var afterDigest: String
    /// With the pieces up to this one the copy is whole.
    public var through: Int64
    public var storeSize: Int64
    public var storeDigest: String
    public var epoch: String
    /// The last operation in the database as it was copied; the pieces of the log may have later ones.
    public var position: Int64
    public var attachments: Int
    public var attachmentBytes: Int64
    /// Of the object `attachments`.
    public var attachmentsDigest: String
    public var files: [File]
    public var adapters: [Adapter]
    public var certificates: [Certificate]
}

extension CopyManifest {
    static let maximumBytes = 16 << 20

    var bytes: [UInt8] {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
            return Array(try encoder.encode(self))
        }
    }

    /// Throws `store.unavailable` where it is none, or one of a later version.
    init(_ bytes: [UInt8], of copy: CopyName) throws(PorticoError) {
        struct Format: Decodable { let format: Int }
        let data = Data(bytes)
        guard let format = try? JSONDecoder().decode(Format.self, from: data) else {
            throw PorticoError(.storeUnavailable, "The manifest of the copy \(copy) is damaged.")
        }
        guard format.format == Self.currentFormat else {
            throw PorticoError(
                .storeUnavailable,
                "The copy \(copy) has format \(format.format), and this version reads format \(Self.currentFormat).")
        }
        do {
            self = try JSONDecoder().decode(Self.self, from: data)
        } catch {
            throw PorticoError(
                .storeUnavailable, "The manifest of the copy \(copy) is damaged.", logDetail: "\(error)")
        }
        let isSound =
            name == copy.text && Self.isHexadecimal(stream, 32) && Self.isHexadecimal(afterDigest, 64)
            && after >= 0 && through >= after && files.allSatisfy { Self.isWithin($0.path) }
        guard isSound else { throw PorticoError(.storeUnavailable, "The manifest of the copy \(copy) is damaged.") }
    }

    /// Where its log begins.
    var logBegin: PageLog.Position { PageLog.Position(number: after, digest: afterDigest) }

    private static func isHexadecimal(_ text: String, _ count: Int) -> Bool {
        text.utf8.count == count
            && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }

    /// Whether a path leads below the data directory and nowhere else.
    static func isWithin(_ path: String) -> Bool {
        path.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
            && path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).allSatisfy {
                !$0.isEmpty && !$0.elementsEqual(".".utf8) && !$0.elementsEqual("..".utf8)
            }
    }
}

/// A copy as an operator sees it.
public struct CopyStatus: Sendable, Equatable {
    public let name: CopyName
    /// Nil where it is damaged, or of a later version; ``problem`` says it.
    public let manifest: CopyManifest?
    /// Whether it was restored and checked.
    public let isVerified: Bool
    public let problem: String?
}
