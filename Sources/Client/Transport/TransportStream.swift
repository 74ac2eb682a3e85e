/// An answer that comes piece by piece, as a live stream does.
public struct TransportStream: Sendable {
    /// Status and fields; its body is empty.
    public var head: TransportResponse
    /// The body as it comes. Ends where the answer does; throws ``TransportError``. Letting go of it ends the request.
    public var pieces: AsyncThrowingStream<[UInt8], any Error>

    /// A response whose body arrives in `pieces`.
    public init(head: TransportResponse, pieces: AsyncThrowingStream<[UInt8], any Error>) {
        self.head = head
        self.pieces = pieces
    }
}

extension Transport {
    /// A transport that can only carry whole answers.
    public func open(_ request: TransportRequest) async throws -> TransportStream {
        throw TransportError.cannotStream
    }
}
