import AdapterKit
import ArgumentParser
import AttachmentFiles
import Backups
import CommandLineSupport
import DurableFiles
import Foundation
import RecordStorage
import SQLiteStore
import ValueTree

struct Restore: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Checks a backup and puts it in the store's place when the gateway is started next.",
        discussion: """
            From a backup target it takes the last verified copy with everything that was written since, or the copy that --copy \
            names as it was. What is there is kept beside it, as portico.sqlite.replaced; attachments join those that are there. \
            The restored store has a new epoch, so every device starts over. A gateway that runs goes on with what it has until it \
            is started again. Root acts as the owner of the data directory, who has to be able to read the backup.
            """)

    @OptionGroup var options: ConnectionOptions
    @Option(help: "The store's file, in the data directory: store.path of the configuration.")
    var store = "portico.sqlite"
    @Option(help: "The copy of a backup target; porticoctl backups list --from shows them.") var copy: String?
    @Flag(help: "Takes a backup without a list of its files, as earlier versions made them; it is less checked.")
    var withoutList = false
    @Flag(help: "Leaves out attachments that are damaged or missing, and names them.")
    var leaveOutDamaged = false
    @OptionGroup var storage: ObjectStorageOptions
    @OptionGroup var confirmation: Confirmation
    @Argument(help: "A backup target: its folder, or s3://BUCKET/PREFIX; or a directory that backup made.") var backup:
        String

    func run() async throws {
        guard case .data(let folder) = options.place else {
            throw CommandError(
                "restore works on the data directory of the machine: name it with --data.", exitStatus: 2)
        }
        try confirmation.ask("Put the backup in the store's place at the next start?")
        let data = URL(fileURLWithPath: folder, isDirectory: true)
        try FileManager.default.createDirectory(
            at: data, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let owner: DirectoryOwner
        do {
            owner = try DirectoryOwner(of: data.path)
            try owner.impersonate()
        } catch {
            throw CommandError(error.description)
        }
        defer { owner.endImpersonation() }
        let place = RestoredPlace(data: data, store: store)
        do {
            let restored =
                ObjectStorageOptions.isTarget(backup)
                ? try await storage.withTarget(backup) {
                    try await TargetRestore(place: place, copy: copy, leavesOutDamaged: leaveOutDamaged).run(from: $0)
                }
                : try folderRestore(place)
            try Printer(style: options.output).show(restored.value) { restored.words }
        } catch let error as PorticoError {
            throw CommandError(error.message)
        }
    }

    private func folderRestore(_ place: RestoredPlace) throws -> Restored {
        guard copy == nil else {
            throw CommandError("--copy is for a backup target; this is a single backup.", exitStatus: 2)
        }
        let backup = try BackupFolder(
            URL(fileURLWithPath: backup).path,
            tolerating: BackupFolder.Tolerance(missingList: withoutList, damagedAttachments: leaveOutDamaged))
        let attachments = place.attachments
        let copies = try attachments.copy(from: backup)
        do {
            let summary = try place.restore.prepare(from: backup) { try attachments.accept() }
            return Restored(summary: summary, copies: copies, manifest: nil, warnings: [])
        } catch {
            // Without the store that names them they are not wanted either.
            try? attachments.discard()
            throw error
        }
    }
}

/// Where a backup is restored.
struct RestoredPlace {
    let data: URL
    let storePath: String
    let restore: StoreRestore
    let attachments: AttachmentRestore

    /// `store`: its path, from the data directory.
    init(data: URL, store: String) {
        self.data = data
        storePath = URL(fileURLWithPath: store, relativeTo: data).absoluteURL.path
        restore = StoreRestore(path: storePath)
        attachments = AttachmentRestore(into: data.appendingPathComponent(AttachmentFiles.folderName))
    }
}

/// What was restored, for programs and for people.
struct Restored {
    let summary: BackupSummary
    let copies: AttachmentCopies
    /// Nil: it was no copy of a backup target.
    let manifest: CopyManifest?
    /// A sentence each.
    let warnings: [String]

    var value: WireValue {
        var members: WireDictionary = [
            "takesEffect": "at the gateway's next start", "position": .int64(summary.position.number),
            "floor": .int64(summary.floor.number), "bytes": .int64(summary.size),
            "attachments": [
                "count": .int64(Int64(copies.count)), "bytes": .int64(copies.bytes),
                "damaged": .array(copies.damaged.map { .string($0.text) }),
            ],
        ]
        if let manifest {
            members["copy"] = .string(manifest.name)
            members["warnings"] = .array(warnings.map { .string($0) })
        }
        return .dictionary(members)
    }

    var words: String {
        let report = StoreReport(value)
        return (["The gateway takes the backup at its next start: \(report.contents).\(report.damage)"] + warnings)
            .joined(separator: "\n")
    }
}

/// Restores a copy of a backup target: store, attachments, installed packages; the configuration is laid beside them.
struct TargetRestore {
    let place: RestoredPlace
    let copy: String?
    let leavesOutDamaged: Bool

    private static let folderName = "restored"

    func run(from target: any BackupTarget) async throws -> Restored {
        let reader = BackupReader(target)
        let manifest = try await reader.copy(named: copy)
        let work = place.data.appending(path: ".restoring-\(UInt32.random(in: .min ... .max))").path
        try FileManager.default.createDirectory(
            atPath: work, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(atPath: work) }
        // Beside the store, into whose place it is moved.
        let file = place.storePath + ".downloaded"
        for ending in ["", "-journal", "-wal", "-shm"] { try DurableFiles.remove(file + ending) }
        let database = try await reader.readDatabase(
            of: manifest, into: file, work: work, copy == nil ? .latest : .copy)
        defer { try? FileManager.default.removeItem(atPath: file) }
        let copies = try await place.attachments.copy(
            try await attachments(of: manifest, reader), leavesOutDamaged: leavesOutDamaged
        ) { try await reader.read($0, into: $1) }
        do {
            try await restoreFiles(of: manifest, reader)
            let summary = try place.restore.prepare(moving: file) { try place.attachments.accept() }
            try RestoredGateway(manifest).write(into: place.data.path)
            return Restored(
                summary: summary, copies: copies, manifest: manifest, warnings: warnings(manifest, database))
        } catch {
            try? place.attachments.discard()
            throw error
        }
    }

    /// What the log has since the copy may name every attachment that is there.
    private func attachments(of manifest: CopyManifest, _ reader: BackupReader) async throws -> [AttachmentDigest] {
        var digests = Set(try await reader.attachments(of: manifest))
        if copy == nil { digests.formUnion(try await reader.allAttachments().keys) }
        return digests.sorted { $0.text < $1.text }
    }

    private func restoreFiles(of manifest: CopyManifest, _ reader: BackupReader) async throws {
        let folder = place.data.appending(path: Self.folderName)
        try? FileManager.default.removeItem(at: folder)
        try await reader.readFiles(of: manifest, into: folder.path)
        let (packages, installed) = (folder.appending(path: "adapters"), place.data.appending(path: "adapters"))
        let names = (try? FileManager.default.contentsOfDirectory(atPath: packages.path)) ?? []
        if !names.isEmpty {
            try FileManager.default.createDirectory(
                at: installed, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        }
        for name in names where !FileManager.default.fileExists(atPath: installed.appending(path: name).path) {
            try FileManager.default.moveItem(at: packages.appending(path: name), to: installed.appending(path: name))
        }
        try? FileManager.default.removeItem(at: packages)
    }

    private func warnings(_ manifest: CopyManifest, _ database: BackupReader.Database) -> [String] {
        var sentences: [String] = []
        if let piece = database.missing {
            sentences.append("A piece of the log is missing (\(piece)): what came after it is not restored.")
        }
        let folder = place.data.appending(path: Self.folderName).path
        sentences.append("The configuration of the copy lies in \(folder.visible)/configuration.")
        sentences += manifest.adapters.filter { $0.source == .program }.map {
            "Not in the copy: the program of the adapter \($0.name.visible), \(($0.path ?? "").visible)."
        }
        sentences += manifest.certificates.map {
            "Not in the copy: \($0.key.visible), \($0.path.visible), and its key."
        }
        return sentences
    }
}
