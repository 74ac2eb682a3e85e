import Synchronization

/// Where a read puts what it has found, while it goes on.
public protocol PieceOutput: Sendable {
    /// Returns when there is room for the next piece: a read is as fast as whoever takes its pieces. Throws where nobody
    /// does any more, or the read has taken too long; the read is to end then.
    func send(_ piece: [UInt8]) throws
}

/// What a read has sent, all of it at hand.
public final class BufferedPieces: PieceOutput, MountResponseBody {
    private let pieces = Mutex<[[UInt8]]>([])

    public init() {}

    public func send(_ piece: [UInt8]) { pieces.withLock { $0.append(piece) } }

    public func next() -> [UInt8]? { pieces.withLock { $0.isEmpty ? nil : $0.removeFirst() } }

    public func end() { pieces.withLock { $0 = [] } }
}

extension RecordStore {
    /// At one moment, and then piece by piece: for stores that cannot go on reading while somebody takes what they found.
    public func pieces(
        within time: Duration, _ body: @escaping @Sendable (any RecordSnapshot, any PieceOutput) throws -> Void
    ) async throws -> any MountResponseBody {
        try await withReadSnapshot { snapshot in
            let gathered = BufferedPieces()
            try body(snapshot, gathered)
            return gathered
        }
    }
}
