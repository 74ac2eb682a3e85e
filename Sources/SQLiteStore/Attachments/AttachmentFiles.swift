import AdapterKit
import Foundation
import SyncEngine

/// Where attachments lie.
struct AttachmentFiles {
    let directory: URL

    struct Found {
        let digest: AttachmentDigest
        let url: URL
        let size: Int64
        /// Seconds since 1970.
        let modified: Double
    }

    func place(of digest: AttachmentDigest) -> URL {
        directory.appending(path: String(digest.text.prefix(2))).appending(path: digest.text)
    }

    func upload(of digest: AttachmentDigest) -> URL {
        directory.appending(path: "uploads").appending(path: digest.text)
    }

    func size(_ url: URL) -> Int64? {
        let attributes = try? FileManager.default.attributesOfItem(atPath: url.path)
        return (attributes?[.size] as? Int).map { Int64($0) }
    }

    func uploads() -> [Found] { found(in: directory.appending(path: "uploads")) }

    func whole() -> [Found] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? []
        return names.filter { $0.utf8.count == 2 }.flatMap { found(in: directory.appending(path: $0)) }
    }

    var total: Int64 { (whole() + uploads()).reduce(0) { $0 + $1.size } }

    private func found(in folder: URL) -> [Found] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return names.compactMap { name in
            let url = folder.appending(path: name)
            guard let digest = AttachmentDigest(name),
                let attributes = try? FileManager.default.attributesOfItem(atPath: url.path),
                let size = attributes[.size] as? Int, let modified = attributes[.modificationDate] as? Date
            else { return nil }
            return Found(digest: digest, url: url, size: Int64(size), modified: modified.timeIntervalSince1970)
        }
    }
}
