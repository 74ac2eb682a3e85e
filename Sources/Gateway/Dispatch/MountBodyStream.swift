import AdapterKit
import NIOCore
import Synchronization

/// An adapter's pieces as a connection asks for them, in the coding that its peer takes.
final class MountBodyStream: ResponseStream {
    private let pieces: any ByteStream
    /// Nil: as they are, or coded to their end.
    private let coding: Mutex<ContentCoding.Stream?>
    private let log: Log

    init(_ pieces: any ByteStream, _ coding: sending ContentCoding.Stream?, log: Log) {
        self.pieces = pieces
        self.coding = Mutex(coding)
        self.log = log
    }

    func next() async throws -> ByteBuffer? {
        do {
            let piece = try await pieces.next()
            return try coded(piece).map { ByteBuffer(bytes: $0) }
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            // The status was sent long ago: nobody else tells of it.
            log.error("An answer broke off.", ["error": "\(error)"])
            throw error
        }
    }

    func end() { pieces.cancel() }

    private func coded(_ piece: [UInt8]?) throws -> [UInt8]? {
        try coding.withLock { coding in
            guard let stream = coding else { return piece }
            if piece == nil { coding = nil }
            return try stream.add(piece)
        }
    }
}
