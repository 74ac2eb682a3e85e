import AdapterKit
import Crypto
import Foundation
import SQLiteStore
import SyncEngine
import Testing

@Suite struct AttachmentTests {
    private let directory: TemporaryDirectory
    private let bytes = [UInt8]((0..<10_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })

    init() throws {
        directory = try TemporaryDirectory()
    }

    @Test func `an upload goes on where it was, after a restart too, and is there once it is whole`() async throws {
        let digest = digest(of: bytes)
        var attachments = try open()
        #expect(try await attachments.uploaded(digest) == 0)
        let first = try await attachments.append(Array(bytes[..<4000]), to: digest, at: 0, of: 10_000)
        #expect(first == AttachmentUpload(offset: 4000, isComplete: false))
        #expect(try await attachments.size(of: digest) == nil)
        attachments = try open()
        #expect(try await attachments.uploaded(digest) == 4000)
        let last = try await attachments.append(Array(bytes[4000...]), to: digest, at: 4000, of: 10_000)
        #expect(last == AttachmentUpload(offset: 10_000, isComplete: true))
        #expect(try await attachments.size(of: digest) == 10_000)
        #expect(try await attachments.read(digest, from: 0, count: 20_000) == bytes)
        #expect(try await attachments.read(digest, from: 9_990, count: 20) == Array(bytes[9_990...]))
        let again = try await attachments.append([], to: digest, at: 0, of: 10_000)
        #expect(again.isComplete)
    }

    @Test func `bytes of another digest are refused, and the upload begins anew`() async throws {
        let attachments = try open()
        let digest = digest(of: [1])
        let error = await #expect(throws: PorticoError.self) {
            try await attachments.append(bytes, to: digest, at: 0, of: 10_000)
        }
        #expect(error?.code == .requestInvalid)
        #expect(try await attachments.uploaded(digest) == 0)
        #expect(try await attachments.append([1], to: digest, at: 0, of: 1).isComplete)
    }

    @Test func `a part that does not follow the last one is refused`() async throws {
        let attachments = try open()
        let digest = digest(of: bytes)
        _ = try await attachments.append(Array(bytes[..<100]), to: digest, at: 0, of: 10_000)
        for offset: Int64 in [0, 99, 101] {
            let error = await #expect(throws: PorticoError.self) {
                try await attachments.append([0], to: digest, at: offset, of: 10_000)
            }
            #expect(error?.code == .preconditionFailed)
        }
    }

    @Test func `what is larger than its limits is refused`() async throws {
        let attachments = try open(AttachmentLimits(size: 100, total: 150, uploads: 2))
        await refused(.requestTooLarge) { try await attachments.append([], to: digest(of: [0]), at: 0, of: 101) }
        for number: UInt8 in 1...2 {
            let content = [UInt8](repeating: number, count: 70)
            _ = try await attachments.append(Array(content[..<60]), to: digest(of: content), at: 0, of: 70)
        }
        await refused(.overloaded) { try await attachments.append([0], to: digest(of: [0]), at: 0, of: 1) }
        let content = [UInt8](repeating: 1, count: 70)
        _ = try await attachments.append(Array(content[60...]), to: digest(of: content), at: 60, of: 70)
        await refused(.storeFull) {
            try await attachments.append([UInt8](repeating: 0, count: 30), to: digest(of: [9]), at: 0, of: 30)
        }
    }

    @Test func `what nothing refers to is removed after the window, and no sooner`() async throws {
        let (kept, unused) = (digest(of: [1]), digest(of: [2]))
        let attachments = try open()
        for (digest, byte) in [(kept, 1 as UInt8), (unused, 2)] {
            _ = try await attachments.append([byte], to: digest, at: 0, of: 1)
        }
        _ = try await attachments.append([3], to: digest(of: [3, 4]), at: 0, of: 2)
        let none = try await attachments.collect { _ in false }
        #expect(none == AttachmentCollection())
        let later = try open(AttachmentLimits(window: -1_000_000))
        let collected = try await later.collect { $0 == kept }
        #expect(collected.attachments == 1 && collected.uploads == 1 && collected.bytes == 2)
        #expect(try await later.size(of: kept) == 1)
        #expect(try await later.size(of: unused) == nil)
    }

    private func open(_ limits: AttachmentLimits = AttachmentLimits()) throws -> FileAttachments {
        try FileAttachments(directory: directory.url.appending(path: "attachments").path, limits: limits, clock: Now())
    }

    private func digest(of bytes: [UInt8]) -> AttachmentDigest {
        AttachmentDigest(
            unchecked: SHA256.hash(data: bytes).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        )
    }

    private func refused(_ code: ErrorCode, _ body: () async throws -> AttachmentUpload) async {
        let error = await #expect(throws: PorticoError.self) { try await body() }
        #expect(error?.code == code)
    }
}

/// Files carry the machine's time.
private struct Now: WallClock {
    func now() -> WireDate { WireDate(secondsSince1970: Date().timeIntervalSince1970) }
}
