import AdapterKit
import Foundation
import RecordStorage

extension AttachmentFiles {
    public func unused(since instant: WireDate) async throws -> Set<AttachmentDigest> {
        let (layout, latest) = (layout, Date(instant))
        return try await turns.take { _ in Set(layout.complete().filter { $0.used < latest }.map(\.digest)) }
    }

    public func keep(_ digests: Set<AttachmentDigest>) async throws {
        let places = digests.map(layout.place(of:))
        try await turns.take { turn in
            for place in places where place.fileSize != nil { try turn.touch(place) }
        }
    }

    public func remove(
        _ digests: Set<AttachmentDigest>, unusedSince instant: WireDate
    ) async throws -> AttachmentRemoval {
        let (layout, latest) = (layout, Date(instant))
        return try await turns.take { turn in
            var removal = AttachmentRemoval()
            guard turn.holds == 0 else { return removal }
            for found in layout.complete() where digests.contains(found.digest) && found.used < latest {
                try turn.remove(found)
                try? FileManager.default.removeItem(at: layout.marks(of: found.digest))
                removal.attachments += 1
                removal.bytes += found.size
            }
            for found in layout.partial() where found.used < latest {
                try turn.remove(found)
                removal.uploads += 1
                removal.bytes += found.size
            }
            return removal
        }
    }

    public func withoutRemoval<Result: Sendable>(
        _ body: @Sendable () async throws -> Result
    ) async throws -> Result {
        try await turns.take { $0.holds += 1 }
        let result: Swift.Result<Result, any Error>
        do { result = .success(try await body()) } catch { result = .failure(error) }
        try await turns.take { $0.holds -= 1 }
        return try result.get()
    }
}

extension AttachmentTurn {
    fileprivate mutating func remove(_ found: AttachmentLayout.Found) throws {
        try FileManager.default.removeItem(at: found.place)
        forgetCount()
    }
}

extension Date {
    fileprivate init(_ instant: WireDate) {
        self.init(timeIntervalSinceReferenceDate: instant.secondsSinceReferenceDate)
    }
}
