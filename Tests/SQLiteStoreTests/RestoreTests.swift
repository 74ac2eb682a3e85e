import AdapterKit
import AttachmentFiles
import DurableFiles
import Foundation
import RecordStorage
import SQLiteStore
import Testing

/// Backups that a caller has had their hands on.
@Suite struct RestoreTests {
    private let directory: TemporaryDirectory
    private let backup: URL
    private let secret: URL
    private let attachment: URL

    init() async throws {
        directory = try TemporaryDirectory()
        backup = directory.url.appending(path: "backup")
        secret = directory.url.appending(path: "secret")
        try Data("secret".utf8).write(to: secret)
        let bytes = Array("an attachment".utf8)
        var digest = SHA256Text()
        bytes.withUnsafeBytes { digest.update($0) }
        let name = digest.finish()
        attachment = backup.appending(path: "attachments/\(name.prefix(2))/\(name)")
        let store = try directory.store()
        try await Things.install(Things.declaration([Field("text", .string)]), in: store)
            .create(["id": "kept"], in: "things")
        _ = try await store.backUp(to: backup.path) { unfinished in
            let inner = URL(filePath: unfinished).appending(path: "attachments/\(name.prefix(2))")
            try FileManager.default.createDirectory(at: inner, withIntermediateDirectories: true)
            try Data(bytes).write(to: inner.appending(path: name))
        }
        await store.close()
    }

    private var store: URL { backup.appending(path: "portico.sqlite") }
    private var list: URL { backup.appending(path: "SHA256SUMS") }

    private func restore(tolerating tolerance: BackupFolder.Tolerance = .init()) throws -> AttachmentCopies {
        let folder = try BackupFolder(backup.path, tolerating: tolerance)
        let attachments = AttachmentRestore(into: live)
        let copies = try attachments.copy(from: folder)
        do {
            _ = try StoreRestore(path: directory.path).prepare(from: folder) { try attachments.accept() }
        } catch {
            try attachments.discard()
            throw error
        }
        return copies
    }

    /// Below the folder of the attachments, and beside the store.
    private var prepared: [String] {
        let attachments = (FileManager.default.enumerator(atPath: live.path)?.allObjects as? [String]) ?? []
        let files = (try? FileManager.default.contentsOfDirectory(atPath: directory.url.path)) ?? []
        return attachments.sorted() + files.filter { $0.contains(".restor") }.sorted()
    }

    private var live: URL { directory.url.appending(path: "live") }

    /// What a caller may do to a file of a backup.
    enum Deed: CaseIterable {
        case link, linkToFolder, linkToNowhere, linkToDevice, pipe, folder, otherBytes, oneBitMore, empty, missing

        func perform(on file: URL, secret: URL) throws {
            let files = FileManager.default
            let bytes = try Data(contentsOf: file)
            if self != .oneBitMore { try files.removeItem(at: file) }
            switch self {
            case .link: try files.createSymbolicLink(at: file, withDestinationURL: secret)
            case .linkToFolder:
                try files.createSymbolicLink(at: file, withDestinationURL: secret.deletingLastPathComponent())
            case .pipe: guard mkfifo(file.path, 0o600) == 0 else { throw CocoaError(.fileWriteUnknown) }
            case .folder: try files.createDirectory(at: file, withIntermediateDirectories: false)
            case .linkToNowhere: try files.createSymbolicLink(atPath: file.path, withDestinationPath: "nowhere")
            case .linkToDevice: try files.createSymbolicLink(atPath: file.path, withDestinationPath: "/dev/zero")
            case .otherBytes: try Data(bytes.reversed()).write(to: file)
            case .oneBitMore: try (bytes + [0]).write(to: file)
            case .empty: try Data().write(to: file)
            case .missing: break
            }
        }
    }

    enum Target: CaseIterable { case store, attachment, list }

    @Test(arguments: Deed.allCases, Target.allCases)
    func `a file of a backup that is not what was backed up is refused, and nothing is prepared`(
        deed: Deed, target: Target
    ) async throws {
        let file =
            switch target {
            case .store: store
            case .attachment: attachment
            case .list: list
            }
        try deed.perform(on: file, secret: secret)
        #expect(throws: PorticoError.self) { _ = try restore() }
        try await expectUntouched()
    }

    private func expectUntouched() async throws {
        #expect(prepared == [])
        let again = try directory.store()
        let records = try await Things.install(Things.declaration([Field("text", .string)]), in: again)
        #expect(try await records.record("kept", in: "things") != nil)
        await again.close()
    }

    @Test(arguments: [Target.store, .attachment])
    func `a refused restore leaves nothing behind, and takes nothing from an earlier one`(target: Target) throws {
        _ = try restore()
        let before = prepared
        #expect(before.contains { $0.hasSuffix(attachment.lastPathComponent) })
        try Deed.oneBitMore.perform(on: target == .store ? store : attachment, secret: secret)
        #expect(throws: PorticoError.self) { _ = try restore() }
        #expect(prepared == before)
    }

    @Test(arguments: [
        "extra", "attachments/extra", "attachments/ab/extra", "portico.sqlite-wal", "portico.sqlite-journal",
        "attachments/ab/\(String(repeating: "a", count: 64))", "a/b/c/d/e/f",
    ])
    func `a file that is not listed is refused`(name: String) async throws {
        let file = backup.appending(path: name)
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data("x".utf8).write(to: file)
        #expect(throws: PorticoError.self) { _ = try restore() }
        try await expectUntouched()
    }

    @Test(arguments: [
        "../secret", "/etc/passwd", "attachments/../portico.sqlite", "./portico.sqlite", "attachments//x", "a\u{1}b",
        "", "../\u{301}secret",
    ])
    func `a list that names what is outside or named oddly is refused`(path: String) async throws {
        let line = "\(String(repeating: "0", count: 64))  \(path)\n"
        try (try Data(contentsOf: list) + Data(line.utf8)).write(to: list)
        #expect(throws: PorticoError.self) { _ = try restore() }
        try await expectUntouched()
    }

    @Test func `a folder of a backup that is a link is refused`() async throws {
        let folder = attachment.deletingLastPathComponent()
        let aside = directory.url.appending(path: "aside")
        try FileManager.default.moveItem(at: folder, to: aside)
        try FileManager.default.createSymbolicLink(at: folder, withDestinationURL: aside)
        #expect(throws: PorticoError.self) { _ = try restore() }
        try await expectUntouched()
    }

    @Test func `what is restored has a mode, a file and a name of its own, whatever the backup's have`() async throws {
        for file in [store, attachment] {
            try FileManager.default.setAttributes([.posixPermissions: 0o4777], ofItemAtPath: file.path)
            // As tools leave it that keep several backups: one file under two names.
            try FileManager.default.linkItem(
                at: file, to: directory.url.appending(path: "second-\(file.lastPathComponent)"))
        }
        #expect(try restore().count == 1)
        let prepared = live.appending(path: "restored/\(attachment.lastPathComponent.prefix(2))")
            .appending(path: attachment.lastPathComponent).path
        for file in [directory.path + ".restored", prepared] {
            let attributes = try FileManager.default.attributesOfItem(atPath: file)
            #expect(attributes[.posixPermissions] as? Int == 0o600)
            #expect(attributes[.referenceCount] as? Int == 1)
        }
        let folder = try FileManager.default.attributesOfItem(atPath: live.appending(path: "restored").path)
        #expect(folder[.posixPermissions] as? Int == 0o700)
    }

    @Test func `a link in the place of a prepared store is not opened`() async throws {
        _ = try restore()
        let prepared = directory.path + ".restored"
        let aside = directory.url.appending(path: "aside").path
        try FileManager.default.moveItem(atPath: prepared, toPath: aside)
        try FileManager.default.createSymbolicLink(atPath: prepared, withDestinationPath: aside)
        #expect(throws: PorticoError.self) { try directory.store() }
        try FileManager.default.removeItem(atPath: prepared)
        try FileManager.default.linkItem(atPath: aside, toPath: prepared)
        #expect(throws: PorticoError.self) { try directory.store() }
        try FileManager.default.removeItem(atPath: prepared)
        // The attachments were accepted with the store.
        try FileManager.default.removeItem(at: live.appending(path: "restored"))
        try await expectUntouched()
    }

    @Test func `a link among prepared attachments is no attachment`() async throws {
        _ = try restore()
        let name = String(repeating: "b", count: 64)
        let folder = live.appending(path: "restored/bb")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(
            at: folder.appending(path: name), withDestinationURL: secret)
        let files = try AttachmentFiles(in: live, limits: AttachmentLimits(), clock: FixedClock())
        #expect(try await files.size(of: AttachmentDigest(unchecked: name)) == nil)
        let digest = AttachmentDigest(unchecked: attachment.lastPathComponent)
        #expect(try await files.size(of: digest) == 13)
    }

    @Test func `a backup without a list is restored where that is asked for`() async throws {
        try FileManager.default.removeItem(at: list)
        #expect(throws: PorticoError.self) { _ = try restore() }
        #expect(try restore(tolerating: .init(missingList: true)).count == 1)
    }

    @Test(arguments: [Deed.missing, .otherBytes, .empty])
    func `damaged attachments are left out where that is asked for, and named`(deed: Deed) async throws {
        try deed.perform(on: attachment, secret: secret)
        let copies = try restore(tolerating: .init(damagedAttachments: true))
        #expect(copies.count == 0 && copies.damaged.map(\.text) == [attachment.lastPathComponent])
    }
}
