import NIOCore
import SyncEngine
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

    /// Nil also where the bytes cannot be read: the length was told, so the peer sees that some are missing.
    func next() async -> ByteBuffer? {
        let from = position.withLock { $0 }
        guard from < limit,
            let bytes = try? await store.read(digest, from: from, count: Int(min(Int64(piece), limit - from))),
            !bytes.isEmpty
        else { return nil }
        position.withLock { $0 = from + Int64(bytes.count) }
        return ByteBuffer(bytes: bytes)
    }

    func end() {}
}
