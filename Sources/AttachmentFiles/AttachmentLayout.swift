import AdapterKit
import Crypto
import Foundation
import RecordStorage

/// Where attachments lie.
struct AttachmentLayout: Sendable {
    struct Found {
        let digest: AttachmentDigest
        let place: URL
        let size: Int64
        /// When it was last in use.
        let used: Date

        /// Whose it is, in the layout's words. Only what is uploaded has one.
        var owner: String { String(place.lastPathComponent.prefix { $0 != "-" }) }
    }

    private let whole: URL
    private let parts: URL
    private let uploaders: URL

    init(_ directory: URL) {
        uploaders = directory.appending(path: "uploaders")
        whole = directory.appending(path: "complete")
        parts = directory.appending(path: "partial")
    }

    /// Of a directory that holds whole ones alone, as a backup's does.
    init(complete: URL) {
        whole = complete
        parts = complete.appending(path: "partial")
        uploaders = complete.appending(path: "uploaders")
    }

    /// The folders that have to stay where they are.
    var folders: [String] { [whole.path, parts.path] }

    func make() throws {
        for folder in [whole, parts, uploaders] { try folder.makeDirectory() }
    }

    func place(of digest: AttachmentDigest) -> URL {
        whole.appending(path: String(digest.text.prefix(2))).appending(path: digest.text)
    }

    /// An owner's id may be anything, its digest is a file name.
    func place(of digest: AttachmentDigest, from owner: String) -> URL {
        parts.appending(path: "\(name(of: owner))-\(digest.text)")
    }

    /// A file for each owner who has uploaded the whole: empty until a record is found that names it, then ``named``.
    func mark(of digest: AttachmentDigest, by owner: String) -> URL { mark(of: digest, name: name(of: owner)) }

    func mark(of digest: AttachmentDigest, name: String) -> URL { marks(of: digest).appending(path: name) }

    static let named = Data([UInt8(ascii: "n")])

    /// Those, as the layout names them, whose upload no record is known to name.
    func unnamedOwners(of digest: AttachmentDigest) -> [String] {
        let folder = marks(of: digest)
        return folder.namesWithin.filter { folder.appending(path: $0).fileSize == 0 }
    }

    /// The folder of those files.
    func marks(of digest: AttachmentDigest) -> URL {
        uploaders.appending(path: String(digest.text.prefix(2))).appending(path: digest.text)
    }

    func name(of owner: String) -> String {
        Hexadecimal.text(SHA256.hash(data: Array(owner.utf8)).prefix(16))
    }

    func complete() -> [Found] { completeFolders().flatMap { complete(in: $0) } }

    /// The folders of whole ones.
    func completeFolders() -> [URL] {
        whole.namesWithin.filter { $0.utf8.count == 2 }.map { whole.appending(path: $0) }
    }

    func complete(in folder: URL) -> [Found] { findAttachments(in: folder) { $0[...] } }

    func partial() -> [Found] {
        findAttachments(in: parts) { $0.split(separator: "-", maxSplits: 1).last ?? "" }
    }

    /// One of them, by its owner's name in the layout.
    func upload(of digest: AttachmentDigest, by name: String) -> Found? {
        findAttachment(digest, at: parts.appending(path: "\(name)-\(digest.text)"))
    }

    private func findAttachments(in folder: URL, _ digest: (String) -> Substring) -> [Found] {
        folder.namesWithin.compactMap { name in
            AttachmentDigest(String(digest(name))).flatMap { findAttachment($0, at: folder.appending(path: name)) }
        }
    }

    private func findAttachment(_ digest: AttachmentDigest, at place: URL) -> Found? {
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: place.path),
            // A link is no caller's attachment.
            attributes[.type] as? FileAttributeType == .typeRegular,
            let size = attributes[.size] as? NSNumber, let used = attributes[.modificationDate] as? Date
        else { return nil }
        return Found(digest: digest, place: place, size: size.int64Value, used: used)
    }
}

extension URL {
    /// Nil where there is no file.
    var fileSize: Int64? {
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        return (attributes?[.size] as? NSNumber)?.int64Value
    }

    var namesWithin: [String] { (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [] }

    func makeDirectory() throws {
        try FileManager.default.createDirectory(
            at: self, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }
}
