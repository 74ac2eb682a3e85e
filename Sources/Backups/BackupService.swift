import AdapterKit
import AttachmentFiles
import DurableFiles
import Foundation
import RecordStorage
import SQLiteStore
import Synchronization

/// What is configured below `backups`.
public struct BackupSettings: Sendable {
    public var schedule: BackupSchedule
    /// Verified copies that are kept; at least one.
    public var keep: Int
    /// How often what was committed is written to the target.
    public var interval: Duration
    /// Bytes of the page log that wait for the target at most.
    public var waiting: Int64
    /// A folder of this machine, for copies that are made and checked. Its content is removed.
    public var work: String

    public init(schedule: BackupSchedule, keep: Int, interval: Duration, waiting: Int64, work: String) {
        (self.schedule, self.keep, self.interval) = (schedule, max(1, keep), interval)
        (self.waiting, self.work) = (waiting, work)
    }
}

/// What belongs to a copy beside the store and the attachments.
public struct BackupContents: Sendable {
    /// A file, and where it goes below the data directory.
    public struct File: Sendable {
        public var path: String
        public var source: String

        public init(path: String, source: String) {
            (self.path, self.source) = (path, source)
        }
    }

    public var version: String
    public var files: [File]
    public var adapters: [CopyManifest.Adapter]
    public var certificates: [CopyManifest.Certificate]

    public init(
        version: String, files: [File], adapters: [CopyManifest.Adapter], certificates: [CopyManifest.Certificate]
    ) {
        (self.version, self.files, self.adapters, self.certificates) = (version, files, adapters, certificates)
    }
}

/// How the backups of this gateway are.
public struct BackupFigures: Sendable, Equatable {
    /// When the state that the target has was the store's, in seconds since 1970; nil: it has none of this gateway's.
    public var state: Double?
    /// When the last verified copy was begun; nil: there is none.
    public var copy: Double?
    public var verifiedCopies = 0
    public var failures: [String: Int] = [:]
    /// Bytes of the page log that were written to the target.
    public var logBytes: Int64 = 0
    /// Why the last attempt of anything failed; nil: it did not.
    public var problem: String?
}

/// Makes backups while the gateway runs: full copies by the schedule, each restored and checked, and in between the pages
/// that the store commits.
///
/// Three tasks share it. One collects the store's page log every half interval, and so lets the store make its checkpoints
/// whatever the target does. One writes what was collected to the target, attachments first. One makes copies and removes
/// what newer ones replace. Whatever fails is tried again, and none of it keeps the gateway from serving.
public actor BackupService {
    private let settings: BackupSettings
    private let target: any BackupTarget
    private let store: any PageLoggedStore
    private let attachments: AttachmentFiles
    private let contents: @Sendable () async throws -> BackupContents
    private let clock: any WallClock
    private let log: Log
    private let reader: BackupReader
    private let current = Mutex(BackupFigures())

    private var planner: CopyPlanner
    private var pageLog: PageLog?
    /// The last piece that was collected, and when.
    private var collected: (position: PageLog.Position, time: Double)?
    /// The last piece of the log that the target has.
    private var shipped: Int64 = 0
    private var logBytesSinceCopy: Int64 = 0
    private var piecesSinceCopy = 0
    /// Attachments that the target has.
    private var known: [AttachmentDigest: Int64]?
    private var marks = AttachmentFolderMarks()
    /// Attachments that are here and not there yet.
    private var missing: [StoredAttachment] = []
    /// Attachments that were read back.
    private var read: Set<AttachmentDigest> = []
    private var hasBegun = false
    private var hasLearned = false
    private var hasEnded = false
    private var waiters: [CheckedContinuation<CopyManifest, any Error>] = []
    /// What fails, by its step.
    private var problems: [String: String] = [:]

    public init(
        _ settings: BackupSettings, target: any BackupTarget, store: any PageLoggedStore, attachments: AttachmentFiles,
        clock: any WallClock, log: Log, contents: @escaping @Sendable () async throws -> BackupContents
    ) {
        (self.settings, self.target, self.store, self.attachments) = (settings, target, store, attachments)
        (self.clock, self.log, self.contents) = (clock, log, contents)
        reader = BackupReader(target)
        planner = CopyPlanner(.init(schedule: settings.schedule, keep: settings.keep))
    }

    /// How the backups are. Waits for nothing.
    public nonisolated var figures: BackupFigures { current.withLock { $0 } }

    /// Runs until the task is cancelled. Call ``finish()`` once nothing is written any more.
    public func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.keepCollecting() }
            group.addTask { await self.keepShipping() }
            group.addTask { await self.keepCopying() }
        }
        hasEnded = true
        failWaiters(CancellationError())
    }

    /// Writes what was committed last to the target, and gives the log up. Tries it once, for at most a minute.
    public func finish() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                await self.collect()
                await self.ship()
            }
            group.addTask { try? await Task.sleep(for: .seconds(60)) }
            _ = await group.next()
            group.cancelAll()
        }
        await pageLog?.end()
        pageLog = nil
    }

    private var now: Double { clock.now().secondsSince1970 }

    private func pause(_ time: Duration) async { try? await Task.sleep(for: time) }

    // MARK: Failures

    private func note(_ step: StaticString, _ error: any Error) {
        guard !Task.isCancelled else { return }
        let error = PorticoError.ofBackup(error)
        // Once for as long as it is the same.
        let isKnown = problems.updateValue(error.message, forKey: "\(step)") == error.message
        let problem = problems.sorted { $0.key < $1.key }.first?.value
        current.withLock { figures in
            figures.failures["\(step)", default: 0] += 1
            figures.problem = problem
        }
        guard !isKnown else { return }
        log.error(
            "backups fail",
            ["step": .text("\(step)"), "problem": .text(error.message), "detail": .text(error.logDetail ?? "")])
    }

    private func noteSuccess(_ steps: [String]) {
        guard steps.contains(where: { problems[$0] != nil }) else { return }
        for step in steps { problems[step] = nil }
        let problem = problems.sorted { $0.key < $1.key }.first?.value
        current.withLock { $0.problem = problem }
        log.info("backups succeed again", ["steps": .text(steps.joined(separator: ", "))])
    }

    // MARK: Collecting

    private func keepCollecting() async {
        while !Task.isCancelled {
            await collect()
            await pause(settings.interval / 2)
        }
    }

    /// Begins a log where there is none.
    private func collect() async {
        do {
            if pageLog == nil { try await beginLog() }
            guard let pageLog else { return }
            let time = now
            let position = try await pageLog.collect()
            collected = (position, time)
        } catch is CancellationError {
            // The log goes on.
        } catch {
            (pageLog, collected) = (nil, nil)
            note("log", error)
        }
    }

    private func beginLog() async throws {
        let folder = "\(settings.work)/log"
        // What another process left; later, what is left of the log before.
        try? FileManager.default.removeItem(atPath: hasBegun ? folder : settings.work)
        hasBegun = true
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let stream = Hexadecimal.text((0..<16).map { _ in UInt8.random(in: 0...255) })
        let begun = try await store.openPageLog(stream: stream, in: folder, limit: settings.waiting)
        (pageLog, shipped, logBytesSinceCopy, piecesSinceCopy) = (begun, 0, 0, 0)
        planner.logBegan()
    }

    // MARK: Shipping

    private func keepShipping() async {
        while !Task.isCancelled {
            await pause(settings.interval / 2)
            await ship()
        }
    }

    /// Attachments before the records that name them.
    private func ship() async {
        guard let pageLog, let collected else { return }
        do {
            try await shipAttachments()
            while shipped < collected.position.number, self.pageLog === pageLog {
                let number = shipped + 1
                let path = pageLog.path(of: number)
                try await target.write(file: path, to: .piece(number, of: pageLog.stream))
                guard self.pageLog === pageLog else { return }
                shipped = number
                let attributes = try? FileManager.default.attributesOfItem(atPath: path)
                let size = (attributes?[.size] as? NSNumber)?.int64Value ?? 0
                current.withLock { $0.logBytes += size }
                logBytesSinceCopy += size
                piecesSinceCopy += 1
                try? FileManager.default.removeItem(atPath: path)
            }
            guard self.pageLog === pageLog else { return }
            if planner.logIsRestorable { current.withLock { $0.state = collected.time } }
            noteSuccess(["log"])
        } catch {
            note("log", error)
        }
    }

    private func shipAttachments() async throws {
        if known == nil { known = try await reader.allAttachments() }
        // What was found and not written yet is kept: the marks are set already.
        missing += attachments.wholeAttachments(changedSince: &marks)
        while let attachment = missing.last {
            if known?[attachment.digest] != attachment.size,
                FileManager.default.fileExists(atPath: attachment.path)
            {
                try await target.write(file: attachment.path, to: .attachment(attachment.digest.text))
                known?[attachment.digest] = attachment.size
            }
            // Another caller may have gone on meanwhile.
            missing.removeAll { $0.digest == attachment.digest }
        }
    }

    /// The whole attachments that are here.
    private func everyAttachment() async throws -> [StoredAttachment] {
        let attachments = attachments
        return try await DedicatedThread.run(label: "backups.attachments") {
            var marks = AttachmentFolderMarks()
            return attachments.wholeAttachments(changedSince: &marks)
        }
    }

    // MARK: Copies

    private func keepCopying() async {
        while !Task.isCancelled {
            await copyStep()
            await pause(.milliseconds(250))
        }
    }

    private func copyStep() async {
        guard pageLog != nil else { return }
        do { try await learn() } catch {
            planner.noteFailure(at: now)
            failWaiters(error)
            note("copy", error)
            // The target cannot be asked.
            return await pause(.seconds(5))
        }
        requestForLongLog()
        switch planner.next(at: now) {
        case .wait: break
        case .copy: await makeCopy()
        case .verify(let name): await verifyCopy(name)
        case .remove(let names): await remove(names)
        }
        let (count, last) = planner.verifiedCopies
        current.withLock { ($0.verifiedCopies, $0.copy) = (count, last) }
    }

    /// A log that is longer than the store would make a restore take long.
    private func requestForLongLog() {
        guard planner.mayShortenLog(at: now),
            piecesSinceCopy > 4_000 || logBytesSinceCopy > max(256 << 20, store.databaseBytes)
        else { return }
        planner.request()
    }

    private func learn() async throws {
        guard !hasLearned else { return }
        try await target.probe()
        for (name, copy) in try await reader.names() {
            planner.learn(
                name, begun: name.begun, isVerified: copy.isVerified, isFinished: copy.hasManifest)
        }
        hasLearned = true
    }

    private func failWaiters(_ error: any Error) {
        for waiter in waiters { waiter.resume(throwing: PorticoError.ofBackup(error)) }
        waiters = []
    }

    private func makeCopy() async {
        let begun = now
        let name = CopyName(begun: clock.now(), random: .random(in: .min ... .max))
        planner.copyBegan()
        do {
            _ = try await attachments.withoutRemoval { try await self.copy(name) }
            planner.noteCopied(name, begun: begun)
            (logBytesSinceCopy, piecesSinceCopy) = (0, 0)
        } catch {
            planner.leftUnfinished(name, begun: begun)
            planner.noteFailure(at: now)
            failWaiters(error)
            note("copy", error)
        }
    }

    private func copy(_ name: CopyName) async throws -> CopyManifest {
        guard let pageLog else { throw PorticoError(.storeUnavailable, "The log of the backup has ended.") }
        let begun = clock.now()
        let after = try await pageLog.collect()
        let path = "\(settings.work)/copy.sqlite"
        try? FileManager.default.removeItem(atPath: path)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let summary = try await store.copyDatabase(to: path)
        let through = try await pageLog.collect()
        collected = (through, now)
        let (digest, size) = try await DedicatedThread.run(label: "backups.digest") {
            let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? NSNumber
            return (try FileCopy.digest(of: path), size?.int64Value ?? 0)
        }
        // Whatever the copied records name is here.
        let present = try await everyAttachment().sorted { $0.digest.text < $1.digest.text }
        try await shipAttachments()
        let list = Array(present.map { "\($0.digest.text)\n" }.joined().utf8)
        try await target.write(file: path, to: .of(name, "store"))
        try await target.write(list, to: .of(name, "attachments"))
        let contents = try await self.contents()
        let files = try await copyFiles(contents.files, name)
        while self.pageLog === pageLog, shipped < through.number {
            try await Task.sleep(for: .milliseconds(50))
        }
        guard self.pageLog === pageLog else {
            throw PorticoError(.storeUnavailable, "The log of the backup ended before the copy was whole.")
        }
        let manifest = CopyManifest(
            name: name.text, version: contents.version, begun: Self.text(begun), ended: Self.text(clock.now()),
            stream: pageLog.stream, after: after.number, afterDigest: after.digest, through: through.number,
            storeSize: size, storeDigest: digest, epoch: summary.epoch.text, position: summary.position.number,
            attachments: present.count, attachmentBytes: present.reduce(0) { $0 + $1.size },
            attachmentsDigest: BackupReader.digest(list), files: files, adapters: contents.adapters,
            certificates: contents.certificates)
        try await target.write(try manifest.bytes, to: .of(name, "manifest.json"))
        log.info("backup copied", ["copy": .text(name.text), "bytes": .text("\(size)")])
        return manifest
    }

    private static func text(_ time: WireDate) -> String { time.cut(toFractionDigits: 0).rfc3339 ?? "" }

    private func copyFiles(_ files: [BackupContents.File], _ name: CopyName) async throws -> [CopyManifest.File] {
        var copied: [CopyManifest.File] = []
        for file in files where CopyManifest.isWithin(file.path) {
            let attributes = try FileManager.default.attributesOfItem(atPath: file.source)
            let mode = (attributes[.posixPermissions] as? NSNumber)?.intValue ?? 0
            try await target.write(file: file.source, to: .file(copied.count, of: name))
            copied.append(
                CopyManifest.File(
                    path: file.path, size: (attributes[.size] as? NSNumber)?.int64Value ?? 0,
                    digest: try FileCopy.digest(of: file.source), isExecutable: mode & 0o100 != 0))
        }
        return copied
    }

    private func verifyCopy(_ name: CopyName) async {
        do {
            let (manifest, digest) = try await reader.manifest(of: name)
            let read = read
            _ = try await reader.verify(manifest, work: settings.work, .copy) { !read.contains($0) }
            self.read.formUnion(try await reader.attachments(of: manifest))
            try await target.write(Array("\(digest) \(Self.text(clock.now()))\n".utf8), to: .of(name, "verified"))
            planner.noteVerified(name)
            log.info("backup verified", ["copy": .text(name.text)])
            noteSuccess(["copy", "verification"])
            // One that was asked for meanwhile is still to come.
            if !planner.isCopyWanted {
                for waiter in waiters { waiter.resume(returning: manifest) }
                waiters = []
            }
        } catch {
            guard !Task.isCancelled else { return }
            let error = PorticoError.ofBackup(error)
            let isDamaged = error.code == .storeUnavailable || error.isNotFound
            if isDamaged { planner.foundDamaged(name, at: now) } else { planner.noteFailure(at: now) }
            // What is thought to be there may not be.
            known = nil
            marks = AttachmentFolderMarks()
            failWaiters(error)
            note("verification", error)
        }
    }

    // MARK: Removal

    /// Removes copies that newer verified ones replace, then what of logs and attachments no copy needs any more.
    private func remove(_ names: [CopyName]) async {
        do {
            for name in names {
                let objects = try await target.list(.of(name))
                // The first to go: from then on there is no copy.
                for first in ["manifest.json", "verified"] { try await target.remove(.of(name, first)) }
                for object in objects { try await target.remove(object.name) }
                planner.noteRemoved(name)
                log.info("backup removed", ["copy": .text(name.text)])
            }
            try await removeUnneeded()
            noteSuccess(["removal"])
        } catch {
            planner.removalFailed(at: now)
            note("removal", error)
        }
    }

    private func removeUnneeded() async throws {
        let copies = try await reader.copies()
        let manifests = copies.compactMap(\.manifest)
        // What a copy needs that cannot be read is not known.
        guard manifests.count == copies.count, let newest = copies.first(where: \.isVerified)?.manifest else { return }
        for object in try await target.list(.log) {
            let parts = object.name.parts
            guard parts.count == 3, let number = Int64(parts[2]) else { continue }
            // The log that goes on belongs to a copy that is being made, too.
            let goesOn = pageLog.map { parts[1] == $0.stream[...] } ?? false
            if goesOn, newest.stream[...] != parts[1] || number > newest.after { continue }
            let isNeeded = manifests.contains { manifest in
                parts[1] == manifest.stream[...] && number > manifest.after
                    && (number <= manifest.through || manifest.name >= newest.name)
            }
            if !isNeeded { try await target.remove(object.name) }
        }
        var needed = Set<AttachmentDigest>()
        for manifest in manifests { needed.formUnion(try await reader.attachments(of: manifest)) }
        needed.formUnion(try await everyAttachment().map(\.digest))
        for (digest, _) in try await reader.allAttachments() where !needed.contains(digest) {
            // First what is believed, so that one that comes back is written again.
            known?[digest] = nil
            read.remove(digest)
            try await target.remove(.attachment(digest.text))
        }
    }

    // MARK: Operators

    /// Makes a copy now, and returns once it is verified. Throws ``PorticoError`` with a sentence for operators.
    public func makeCopyNow() async throws -> CopyManifest {
        guard !hasEnded else { throw PorticoError.ofBackup(CancellationError()) }
        return try await withCheckedThrowingContinuation { waiter in
            waiters.append(waiter)
            planner.request()
        }
    }

    /// The copies that the target has, the latest first.
    public nonisolated func copies() async throws -> [CopyStatus] {
        do { return try await reader.copies() } catch { throw PorticoError.ofBackup(error) }
    }

    /// Restores a copy to a folder of this machine, with the log as far as it goes, and reads all of it; nil: the last one.
    public nonisolated func verify(
        copyNamed name: String?
    ) async throws -> (manifest: CopyManifest, summary: BackupSummary, database: BackupReader.Database) {
        do {
            let manifest = try await reader.copy(named: name)
            let work = "\(settings.work)/verification-\(UInt32.random(in: .min ... .max))"
            try FileManager.default.createDirectory(
                atPath: work, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            defer { try? FileManager.default.removeItem(atPath: work) }
            let (summary, database) = try await reader.verify(manifest, work: work, name == nil ? .latest : .copy) {
                _ in true
            }
            return (manifest, summary, database)
        } catch {
            throw PorticoError.ofBackup(error)
        }
    }
}
