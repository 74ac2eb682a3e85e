import AdapterKit
import AttachmentFiles
import DurableFiles
import Foundation
import RecordStorage
import SQLiteStore

/// Reads what a backup target has.
public struct BackupReader: Sendable {
    private let target: any BackupTarget
    private let piecesAtOnce: Int64

    /// `piecesAtOnce`: of the page log, read side by side.
    public init(_ target: any BackupTarget, piecesAtOnce: Int64 = 16) {
        (self.target, self.piecesAtOnce) = (target, max(1, piecesAtOnce))
    }

    /// How far the page log is put into a copy.
    public enum Extent: Sendable {
        /// As the copy was when it was finished.
        case copy
        /// Up to the last piece that is there.
        case latest
    }

    /// A database that was put together.
    public struct Database: Sendable, Equatable {
        /// The last piece of the log that is in it.
        public let piece: Int64
        /// A piece that is damaged, or is missing though later ones are there, so that what came after it is not in the database;
        /// nil: none is.
        public let missing: Int64?
    }

    /// Every copy that is there as a whole, the latest first.
    public func copies() async throws -> [CopyStatus] {
        var copies: [CopyStatus] = []
        for (name, copy) in try await names().sorted(by: { $0.key > $1.key }) where copy.hasManifest {
            do {
                let (manifest, digest) = try await manifest(of: name)
                let isVerified = copy.isVerified ? try await verifiedDigest(of: name).map { $0 == digest } : nil
                copies.append(
                    isVerified == false
                        ? CopyStatus(
                            name: name, manifest: nil, isVerified: false,
                            problem: "The manifest of the copy \(name) is not the one that was verified.")
                        : CopyStatus(name: name, manifest: manifest, isVerified: isVerified ?? false, problem: nil))
            } catch let error as PorticoError where error.code == .storeUnavailable {
                copies.append(CopyStatus(name: name, manifest: nil, isVerified: false, problem: error.message))
            } catch let error as PorticoError where error.isNotFound {
                // The list was out of date.
            }
        }
        return copies
    }

    /// The copies of which anything is there.
    func names() async throws -> [CopyName: (hasManifest: Bool, isVerified: Bool)] {
        var found: [CopyName: (hasManifest: Bool, isVerified: Bool)] = [:]
        for object in try await target.list(.copies) {
            let parts = object.name.parts
            guard parts.count >= 3, let name = CopyName(parts[1]) else { continue }
            let last = parts[2...].joined(separator: "/")
            var copy = found[name] ?? (false, false)
            if last == "manifest.json" { copy.hasManifest = true }
            if last == "verified" { copy.isVerified = true }
            found[name] = copy
        }
        return found
    }

    /// The copy of that name; nil: the last verified one. Throws `record.notFound` where there is none.
    public func copy(named text: String?) async throws -> CopyManifest {
        let copies = try await copies()
        if let text {
            guard let copy = copies.first(where: { $0.name.text == text }) else {
                throw PorticoError(
                    .recordNotFound, "There is no copy of this name; backups list shows those that are there.")
            }
            guard let manifest = copy.manifest else {
                throw PorticoError(.storeUnavailable, copy.problem ?? "The copy is damaged.")
            }
            return manifest
        }
        guard let manifest = copies.first(where: { $0.isVerified && $0.manifest != nil })?.manifest else {
            throw PorticoError(.recordNotFound, "There is no verified copy at \(target.place).")
        }
        return manifest
    }

    /// With the digest of its bytes.
    func manifest(of name: CopyName) async throws -> (manifest: CopyManifest, digest: String) {
        let bytes = try await target.read(.of(name, "manifest.json"), limit: CopyManifest.maximumBytes)
        return (try CopyManifest(bytes, of: name), Self.digest(bytes))
    }

    /// The digest of the manifest that was verified; nil: none was. The object `verified` begins with it.
    private func verifiedDigest(of name: CopyName) async throws -> String? {
        do {
            return String(decoding: try await target.read(.of(name, "verified"), limit: 200).prefix(64), as: UTF8.self)
        } catch let error as PorticoError where error.isNotFound {
            return nil
        }
    }

    /// Puts the database of a copy together in a new file. `work`: a folder for pieces of the log. Throws ``PorticoError`` where
    /// anything of it is missing or damaged, and leaves no file then.
    public func readDatabase(
        of manifest: CopyManifest, into path: String, work: String, _ extent: Extent
    ) async throws -> Database {
        do {
            return try await database(of: manifest, path, work, extent)
        } catch {
            for ending in ["", "-journal", "-wal", "-shm"] {
                try? FileManager.default.removeItem(atPath: path + ending)
            }
            throw error
        }
    }

    private func database(
        of manifest: CopyManifest, _ path: String, _ work: String, _ extent: Extent
    ) async throws -> Database {
        let name = try copyName(manifest)
        try await target.read(.of(name, "store"), into: path)
        guard
            try await DedicatedThread.run(label: "backups.digest", { try FileCopy.digest(of: path) })
                == manifest.storeDigest
        else {
            throw PorticoError(.storeUnavailable, "The database of the copy \(name) is damaged.")
        }
        var replay = try PageLogReplay(into: path, stream: manifest.stream, after: manifest.logBegin)
        var number = manifest.after
        let last = extent == .copy ? manifest.through : Int64.max
        var missing: Int64?
        do {
            while number < last, try await addPieces(of: manifest, after: &number, upTo: last, work, &replay) {}
            if extent == .latest { missing = try await addLatePieces(of: manifest, after: &number, work, &replay) }
        } catch {
            try? replay.finish()
            throw error
        }
        let applied = replay.applied
        try replay.finish()
        guard applied >= manifest.through else {
            throw PorticoError(
                .storeUnavailable, "The copy \(name) is not whole: a piece of its log is missing.",
                logDetail: "\(applied) of \(manifest.through)")
        }
        return Database(piece: applied, missing: missing)
    }

    /// Reads the next pieces side by side, and adds them in their order. False where there are no more.
    private func addPieces(
        of manifest: CopyManifest, after number: inout Int64, upTo last: Int64, _ work: String,
        _ replay: inout PageLogReplay
    ) async throws -> Bool {
        let (target, stream) = (target, manifest.stream)
        let numbers = (number + 1)...min(last, number + piecesAtOnce)
        var read = try await withThrowingTaskGroup(of: (Int64, String?).self) { group in
            for number in numbers {
                group.addTask {
                    let path = "\(work)/\(number).piece"
                    // What an attempt before left.
                    try? FileManager.default.removeItem(atPath: path)
                    do {
                        try await target.read(.piece(number, of: stream), into: path)
                        return (number, path)
                    } catch let error as PorticoError where error.isNotFound {
                        return (number, nil)
                    }
                }
            }
            return try await group.reduce(into: [Int64: String]()) { $0[$1.0] = $1.1 }
        }
        defer { for path in read.values { try? FileManager.default.removeItem(atPath: path) } }
        for next in numbers {
            guard let path = read[next] else { return false }
            do {
                try replay.add(path)
                // The replay removes it, once its commit is whole: that may take later pieces.
                read[next] = nil
            } catch let error as PorticoError where error.code == .storeUnavailable && next > manifest.through {
                // The copy is whole without it; what came after it is not.
                return false
            }
            number = next
        }
        return true
    }

    /// Adds what was written while the pieces before were read. Returns a piece that is missing or damaged, though later ones are
    /// listed; nil: none is. Pieces are written one after another, so one that a listed one follows is there, or it is lost. A list
    /// may be out of date: the pieces were asked for by their numbers before, and here it can only find more.
    private func addLatePieces(
        of manifest: CopyManifest, after number: inout Int64, _ work: String, _ replay: inout PageLogReplay
    ) async throws -> Int64? {
        let listed = try await target.list(.log(manifest.stream)).compactMap {
            $0.name.parts.last.flatMap { Int64($0) }
        }
        let newest = listed.max() ?? 0
        while number < newest {
            let before = number
            _ = try await addPieces(of: manifest, after: &number, upTo: newest, work, &replay)
            guard number > before else { return number + 1 }
        }
        return nil
    }

    /// The attachments that belong to a copy.
    public func attachments(of manifest: CopyManifest) async throws -> [AttachmentDigest] {
        let name = try copyName(manifest)
        let bytes = try await target.read(.of(name, "attachments"), limit: 512 << 20)
        guard Self.digest(bytes) == manifest.attachmentsDigest else {
            throw PorticoError(.storeUnavailable, "The list of the attachments of the copy \(name) is damaged.")
        }
        return try bytes.split(separator: UInt8(ascii: "\n")).map { line in
            guard let digest = AttachmentDigest(String(decoding: line, as: UTF8.self)) else {
                throw PorticoError(.storeUnavailable, "The list of the attachments of the copy \(name) is damaged.")
            }
            return digest
        }
    }

    /// The attachments that are there, with their sizes.
    public func allAttachments() async throws -> [AttachmentDigest: Int64] {
        try await target.list(.attachments).reduce(into: [:]) { found, object in
            guard let digest = object.name.parts.last.flatMap({ AttachmentDigest(String($0)) }) else { return }
            found[digest] = object.size
        }
    }

    /// Writes an attachment into a new file. Its bytes are what was found, and its reader compares them with the digest.
    public func read(_ attachment: AttachmentDigest, into path: String) async throws {
        try await target.read(.attachment(attachment.text), into: path)
    }

    /// Writes the gateway's files into a folder, as they lay below the data directory. Throws where one is damaged.
    public func readFiles(of manifest: CopyManifest, into folder: String) async throws {
        let name = try copyName(manifest)
        for (index, file) in manifest.files.enumerated() {
            let path = "\(folder)/\(file.path)"
            try FileManager.default.createDirectory(
                atPath: URL(fileURLWithPath: path).deletingLastPathComponent().path, withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
            try? FileManager.default.removeItem(atPath: path)
            try await target.read(.file(index, of: name), into: path)
            guard try FileCopy.digest(of: path) == file.digest else {
                throw PorticoError(.storeUnavailable, "The file \(file.path) of the copy \(name) is damaged.")
            }
            if file.isExecutable {
                try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: path)
            }
        }
    }

    /// Restores a copy into a folder, and reads all of it: the database with its log, every attachment that `isRead` asks for, and
    /// that the others are there. Throws ``PorticoError``: `store.unavailable` and `record.notFound` where the copy is not good.
    /// Leaves nothing in the folder.
    public func verify(
        _ manifest: CopyManifest, work: String, _ extent: Extent, isRead: @Sendable (AttachmentDigest) -> Bool
    ) async throws -> (summary: BackupSummary, database: Database) {
        let (path, files) = ("\(work)/verified.sqlite", "\(work)/verified.files")
        func clean() {
            for ending in ["", "-journal", "-wal", "-shm"] {
                try? FileManager.default.removeItem(atPath: path + ending)
            }
            try? FileManager.default.removeItem(atPath: files)
        }
        clean()
        defer { clean() }
        let database = try await readDatabase(of: manifest, into: path, work: work, extent)
        let summary = try await BackupSummary.ofCopy(at: path)
        guard summary.epoch.text == manifest.epoch, summary.position.number >= manifest.position else {
            throw PorticoError(.storeUnavailable, "The copy \(manifest.name) is not what the store was.")
        }
        let sizes = try await allAttachments()
        for digest in try await attachments(of: manifest) {
            if isRead(digest) {
                let path = "\(work)/verified.attachment"
                try? FileManager.default.removeItem(atPath: path)
                defer { try? FileManager.default.removeItem(atPath: path) }
                try await read(digest, into: path)
                guard try FileCopy.digest(of: path) == digest.text else {
                    throw PorticoError(
                        .storeUnavailable, "The attachment \(digest) of the copy \(manifest.name) is damaged.")
                }
            } else if sizes[digest] == nil {
                throw PorticoError(
                    .storeUnavailable, "The attachment \(digest) of the copy \(manifest.name) is missing.")
            }
        }
        try await readFiles(of: manifest, into: files)
        return (summary, database)
    }

    private func copyName(_ manifest: CopyManifest) throws -> CopyName {
        guard let name = CopyName(manifest.name) else {
            throw PorticoError(.storeUnavailable, "The manifest of a copy is damaged.")
        }
        return name
    }

    static func digest(_ bytes: [UInt8]) -> String {
        var hash = SHA256Text()
        bytes.withUnsafeBytes { hash.update($0) }
        return hash.finish()
    }
}
