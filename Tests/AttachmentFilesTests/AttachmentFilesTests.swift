import AdapterKit
import Crypto
import Foundation
import RecordStorage
import Synchronization
import Testing

@testable import AttachmentFiles

@Suite struct AttachmentFilesTests {
    private let folder: TemporaryFolder
    private let clock = Clock()

    init() throws { folder = try TemporaryFolder() }

    private func files(_ limits: AttachmentLimits = AttachmentLimits()) throws -> AttachmentFiles {
        try AttachmentFiles(in: folder.url, limits: limits, clock: clock)
    }

    private static func bytes(_ text: String, count: Int = 1) -> [UInt8] {
        Array(String(repeating: text, count: count).utf8)
    }

    private static func digest(_ bytes: [UInt8]) -> AttachmentDigest {
        AttachmentDigest(unchecked: Hexadecimal.text(SHA256.hash(data: bytes)))
    }

    /// The whole at once.
    @discardableResult
    private func upload(_ bytes: [UInt8], by owner: String, to files: AttachmentFiles) async throws -> AttachmentDigest
    {
        let digest = Self.digest(bytes)
        #expect(
            try await files.append(bytes, at: 0, of: Int64(bytes.count), to: digest, from: owner) == .complete)
        return digest
    }

    /// The first bytes of an attachment of `total` bytes, which are never all sent.
    private func begin(
        _ name: String, count: Int = 1, of total: Int64 = 10, by owner: String, to files: AttachmentFiles
    ) async throws -> AttachmentDigest {
        let digest = Self.digest(Self.bytes(name))
        let progress = try await files.append(Self.bytes("x", count: count), at: 0, of: total, to: digest, from: owner)
        #expect(progress == .received(Int64(count)))
        return digest
    }

    private func expect(
        _ code: ErrorCode, _ body: () async throws -> Void, _ location: SourceLocation = #_sourceLocation
    ) async {
        let error = await #expect(throws: PorticoError.self, sourceLocation: location) { try await body() }
        #expect(error?.code == code, sourceLocation: location)
    }

    @Test func `what came in pieces is read as a whole, and before that it is not there`() async throws {
        let (files, bytes) = (try files(), Self.bytes("abcdefghij"))
        let digest = Self.digest(bytes)
        #expect(try await files.progress(of: digest, from: "alice") == .received(0))
        #expect(
            try await files.append(Array(bytes[..<4]), at: 0, of: 10, to: digest, from: "alice") == .received(4))
        #expect(try await files.progress(of: digest, from: "alice") == .received(4))
        #expect(try await files.size(of: digest) == nil)
        #expect(try await !files.hasUploaded(digest, by: "alice"))
        // The last piece overlaps the first one.
        #expect(try await files.append(Array(bytes[2...]), at: 2, of: 10, to: digest, from: "alice") == .complete)
        #expect(try await files.size(of: digest) == 10)
        #expect(try await files.hasUploaded(digest, by: "alice"))
        #expect(try await files.progress(of: digest, from: "alice") == .complete)
        #expect(try await files.read(digest, from: 0, count: 100) == bytes)
        #expect(try await files.read(digest, from: 3, count: 2) == Self.bytes("de"))
        #expect(try await files.read(digest, from: 10, count: 2) == [])
        #expect(try await files.append(bytes, at: 0, of: 10, to: digest, from: "alice") == .complete)
    }

    @Test func `an upload goes on after the process has ended`() async throws {
        let bytes = Self.bytes("abcdefghij")
        let digest = Self.digest(bytes)
        _ = try await files().append(Array(bytes[..<4]), at: 0, of: 10, to: digest, from: "alice")
        let again = try files()
        #expect(try await again.progress(of: digest, from: "alice") == .received(4))
        #expect(try await again.append(Array(bytes[4...]), at: 4, of: 10, to: digest, from: "alice") == .complete)
        #expect(try await files().hasUploaded(digest, by: "alice"))
    }

    @Test func `a piece that leaves a gap is refused, and what was there before stays`() async throws {
        let (files, digest) = (try files(), Self.digest(Self.bytes("abcdefghij")))
        _ = try await files.append(Self.bytes("abcd"), at: 0, of: 10, to: digest, from: "alice")
        await expect(.recordConflict) {
            _ = try await files.append(Self.bytes("fghij"), at: 5, of: 10, to: digest, from: "alice")
        }
        #expect(try await files.progress(of: digest, from: "alice") == .received(4))
    }

    @Test func `bytes that are not what the digest says are refused and gone`() async throws {
        let (files, digest) = (try files(), Self.digest(Self.bytes("right")))
        await expect(.requestInvalid) {
            _ = try await files.append(Self.bytes("wrong"), at: 0, of: 5, to: digest, from: "alice")
        }
        #expect(try await files.progress(of: digest, from: "alice") == .received(0))
        #expect(try await files.size(of: digest) == nil)
    }

    @Test func `what another owner has uploaded is not there for one who has not`() async throws {
        let (files, bytes) = (try files(), Self.bytes("shared"))
        let digest = try await upload(bytes, by: "alice", to: files)
        #expect(try await !files.hasUploaded(digest, by: "bob"))
        #expect(try await files.progress(of: digest, from: "bob") == .received(0))
        #expect(try await files.append(Array(bytes[..<3]), at: 0, of: 6, to: digest, from: "bob") == .received(3))
        #expect(try await files.append(Array(bytes[3...]), at: 3, of: 6, to: digest, from: "bob") == .complete)
        #expect(try await files.hasUploaded(digest, by: "bob"))
        #expect(folder.files("partial").isEmpty)
    }

    @Test(
        arguments: [
            (11, 0, 1, true), (10, 0, 11, true), (10, -1, 1, true), (10, 9, 2, true), (-1, 0, 0, true),
            (10, 9, 1, false),
        ]
            as [(Int64, Int64, Int, Bool)])
    func `a piece beyond the attachment's end or the largest size is refused`(
        total: Int64, offset: Int64, count: Int, isTooLarge: Bool
    ) async throws {
        let files = try files(AttachmentLimits(each: 10))
        let digest = Self.digest(Self.bytes("a"))
        // Without the bytes before it, a piece that is not too large leaves a gap.
        await expect(isTooLarge ? .requestTooLarge : .recordConflict) {
            _ = try await files.append(Self.bytes("x", count: count), at: offset, of: total, to: digest, from: "alice")
        }
    }

    @Test func `attachments and uploads share one room`() async throws {
        let files = try files(AttachmentLimits(total: 10))
        try await upload(Self.bytes("12345"), by: "alice", to: files)
        let digest = try await begin("one", count: 4, by: "bob", to: files)
        await expect(.storeFull) { try await upload(Self.bytes("ab"), by: "carol", to: files) }
        try await upload(Self.bytes("a"), by: "carol", to: files)
        await expect(.storeFull) {
            _ = try await files.append(Self.bytes("x"), at: 4, of: 10, to: digest, from: "bob")
        }
        // The room is that of the files, not of this process.
        let again = try self.files(AttachmentLimits(total: 10))
        await expect(.storeFull) { try await upload(Self.bytes("b"), by: "carol", to: again) }
    }

    @Test func `an owner's bytes that no record names have a room of their own`() async throws {
        let files = try files(AttachmentLimits(unnamedPerPrincipal: 10))
        let large = try await upload(Self.bytes("123456"), by: "alice", to: files)
        let small = try await upload(Self.bytes("abc"), by: "alice", to: files)
        _ = try await begin("one", by: "alice", to: files)
        await expect(.storeFull) { try await upload(Self.bytes("x"), by: "alice", to: files) }
        try await upload(Self.bytes("x"), by: "bob", to: files)
        #expect(try await files.largestUnnamed(of: "alice", limit: 5) == [large, small])
        #expect(try await files.largestUnnamed(of: "alice", limit: 1) == [large])
        try await files.noteNamed([large], by: "alice")
        #expect(try await files.largestUnnamed(of: "alice", limit: 5) == [small])
        try await upload(Self.bytes("yz"), by: "alice", to: files)
        let again = try self.files(AttachmentLimits(unnamedPerPrincipal: 10))
        #expect(try await again.largestUnnamed(of: "alice", limit: 1) == [small])
    }

    @Test func `beyond its uploads an owner's forsaken one gives way, and none that goes on`() async throws {
        let files = try files(AttachmentLimits(uploadsPerPrincipal: 2))
        let first = try await begin("one", by: "alice", to: files)
        let place = folder.url.appending(path: "partial/\(folder.files("partial")[0])").path
        try FileManager.default.setAttributes([.modificationDate: Date(timeIntervalSinceNow: -10)], ofItemAtPath: place)
        clock.set(to: Date().timeIntervalSinceReferenceDate + 30)
        _ = try await begin("two", by: "alice", to: files)
        await expect(.overloaded) { _ = try await begin("three", by: "alice", to: files) }
        _ = try await begin("three", by: "bob", to: files)
        clock.set(to: Date().timeIntervalSinceReferenceDate + 120)
        _ = try await begin("three", by: "alice", to: files)
        #expect(try await files.progress(of: first, from: "alice") == .received(0))
        #expect(folder.files("partial").count == 3)
    }

    @Test func `there are only so many uploads, and what comes whole is none`() async throws {
        let files = try files(AttachmentLimits(uploads: 2))
        for owner in ["alice", "bob"] { _ = try await begin("one", by: owner, to: files) }
        await expect(.overloaded) { _ = try await begin("two", by: "carol", to: files) }
        let whole = try await upload(Self.bytes("whole"), by: "carol", to: files)
        #expect(try await files.hasUploaded(whole, by: "carol"))
        // One that has begun goes on, and makes room with its end.
        let digest = Self.digest(Self.bytes("one"))
        #expect(try await files.append(Self.bytes("x"), at: 1, of: 10, to: digest, from: "bob") == .received(2))
        _ = try? await files.append(Self.bytes("x", count: 8), at: 2, of: 10, to: digest, from: "bob")
        _ = try await begin("two", by: "carol", to: files)
    }

    @Test func `what was not in use since an instant is removed, unless it is held`() async throws {
        let files = try files()
        let old = try await upload(Self.bytes("old"), by: "alice", to: files)
        let kept = try await upload(Self.bytes("kept"), by: "alice", to: files)
        let asked = try await upload(Self.bytes("asked"), by: "alice", to: files)
        _ = try await begin("one", count: 3, by: "alice", to: files)
        let limit = WireDate(secondsSinceReferenceDate: Date().timeIntervalSinceReferenceDate + 60)
        #expect(try await files.unused(since: WireDate(secondsSinceReferenceDate: 0)).isEmpty)
        clock.set(to: limit.secondsSinceReferenceDate + 1)
        try await files.keep([kept])
        #expect(try await files.progress(of: asked, from: "alice") == .complete)
        #expect(try await files.unused(since: limit) == [old])
        let held = try await files.withoutRemoval { try await files.remove([old], unusedSince: limit) }
        #expect(held == AttachmentRemoval())
        let removal = try await files.remove([old, kept, asked], unusedSince: limit)
        #expect(removal.attachments == 1 && removal.uploads == 1 && removal.bytes == 6)
        #expect(try await files.size(of: old) == nil && folder.files("partial").isEmpty)
        #expect(try await files.size(of: kept) == 4)
        // Who uploads it again is asked for its bytes.
        #expect(try await files.progress(of: old, from: "alice") == .received(0))
    }

    @Test func `a hold ends with what it was for, also where that fails`() async throws {
        let files = try files()
        let old = try await upload(Self.bytes("old"), by: "alice", to: files)
        let limit = WireDate(secondsSinceReferenceDate: Date().timeIntervalSinceReferenceDate + 60)
        await expect(.requestInvalid) {
            try await files.withoutRemoval { throw PorticoError(.requestInvalid, "no") }
        }
        #expect(try await files.remove([old], unusedSince: limit).attachments == 1)
    }

    @Test func `removed bytes make room again`() async throws {
        let files = try files(AttachmentLimits(total: 10))
        let old = try await upload(Self.bytes("1234567890"), by: "alice", to: files)
        await expect(.storeFull) { try await upload(Self.bytes("x"), by: "alice", to: files) }
        let limit = WireDate(secondsSinceReferenceDate: Date().timeIntervalSinceReferenceDate + 60)
        _ = try await files.remove([old], unusedSince: limit)
        try await upload(Self.bytes("x"), by: "alice", to: files)
    }

    @Test func `a copy has every whole attachment, and names those that are damaged`() async throws {
        let files = try files()
        let good = try await upload(Self.bytes("good"), by: "alice", to: files)
        let bad = try await upload(Self.bytes("bad"), by: "alice", to: files)
        _ = try await begin("one", by: "alice", to: files)
        try Data("BAD".utf8).write(to: folder.url.appending(path: "complete/\(bad.text.prefix(2))/\(bad.text)"))
        let target = folder.url.appending(path: "copy")
        let copies = try files.copyAll(into: target.path)
        #expect(copies.count == 1 && copies.bytes == 4 && copies.damaged == [bad])
        let copied = target.appending(path: "attachments/\(good.text.prefix(2))/\(good.text)")
        #expect(try Data(contentsOf: copied) == Data("good".utf8))
        #expect(!FileManager.default.fileExists(atPath: target.path + "/attachments/\(bad.text.prefix(2))/\(bad.text)"))
    }

    @Test func `attachments that a restore has prepared are there at the next start`() async throws {
        let bytes = Self.bytes("restored")
        let digest = Self.digest(bytes)
        let prepared = folder.url.appending(path: "restored/\(digest.text.prefix(2))")
        try FileManager.default.createDirectory(at: prepared, withIntermediateDirectories: true)
        try Data(bytes).write(to: prepared.appending(path: digest.text))
        #expect(!AttachmentFiles.areKept(in: folder.url))
        let files = try files()
        #expect(try await files.read(digest, from: 0, count: 100) == bytes)
        #expect(AttachmentFiles.areKept(in: folder.url))
        #expect(!FileManager.default.fileExists(atPath: folder.url.path + "/restored"))
    }

    @Test func `a folder that was replaced is noticed, and nothing is stored in it`() async throws {
        let files = try files()
        #expect(files.isInPlace)
        let complete = folder.url.appending(path: "complete")
        try FileManager.default.moveItem(at: complete, to: folder.url.appending(path: "elsewhere"))
        try FileManager.default.createDirectory(at: complete, withIntermediateDirectories: true)
        #expect(!files.isInPlace)
        await expect(.storeUnavailable) { try await upload(Self.bytes("x"), by: "alice", to: files) }
    }

    @Test func `a link in an attachment's place is no attachment`() async throws {
        let files = try files()
        let digest = Self.digest(Self.bytes("linked"))
        let place = folder.url.appending(path: "complete/\(digest.text.prefix(2))")
        try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(
            atPath: place.appending(path: digest.text).path, withDestinationPath: "/dev/zero")
        #expect(!AttachmentFiles.areKept(in: folder.url))
        #expect(try files.copyAll(into: folder.url.appending(path: "copy").path).count == 0)
    }

    @Test func `an attachment that is not there cannot be read`() async throws {
        let files = try files()
        await expect(.storeUnavailable) {
            _ = try await files.read(Self.digest(Self.bytes("nothing")), from: 0, count: 1)
        }
    }

    private final class Clock: WallClock {
        private let seconds = Mutex(Date().timeIntervalSinceReferenceDate)

        func now() -> WireDate { seconds.withLock { WireDate(secondsSinceReferenceDate: $0) } }
        func set(to time: Double) { seconds.withLock { $0 = time } }
    }
}

/// A folder for one test, removed with it.
final class TemporaryFolder: Sendable {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appending(path: "attachments-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    func files(_ name: String) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: url.appending(path: name).path)) ?? []
    }
}
