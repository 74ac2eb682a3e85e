import AdapterKit
import NIOCore
import RecordStorage
import Synchronization

/// A range of an attachment's bytes, read as the peer takes them.
final class AttachmentStream: ResponseStream {
    private let digest: AttachmentDigest
    private let store: any AttachmentStore
    private let piece: Int
    private let limit: Int64
    private let position: Mutex<Int64>

    init(_ digest: AttachmentDigest, _ range: ByteRange, from store: any AttachmentStore, piece: Int) {
        self.digest = digest
        self.store = store
        self.piece = piece
        limit = range.last + 1
        position = Mutex(range.first)
    }

    /// Throws where the bytes cannot be read. The length was sent, so on a connection that went on the peer would take
    /// the next answer for the rest of this one.
    func next() async throws -> ByteBuffer? {
        let from = position.withLock { $0 }
        guard from < limit else { return nil }
        let bytes = try await store.read(digest, from: from, count: Int(min(Int64(piece), limit - from)))
        guard !bytes.isEmpty else { throw PorticoError(.serverInternal, "An attachment is shorter than it was.") }
        position.withLock { $0 = from + Int64(bytes.count) }
        return ByteBuffer(bytes: bytes)
    }

    func end() {}
}
