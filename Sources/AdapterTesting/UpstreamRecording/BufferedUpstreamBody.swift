import AdapterKit
import Synchronization

/// A body that is in memory, by pieces.
public final class BufferedUpstreamBody: UpstreamBody {
    private let rest: Mutex<ArraySlice<UInt8>>
    private let pieceBytes: Int

    public init(_ bytes: [UInt8], pieceBytes: Int = 65_536) {
        rest = Mutex(bytes[...])
        self.pieceBytes = max(1, pieceBytes)
    }

    public func nextPiece() async throws(UpstreamFailure) -> [UInt8]? {
        rest.withLock { rest in
            guard !rest.isEmpty else { return nil }
            defer { rest = rest.dropFirst(pieceBytes) }
            return Array(rest.prefix(pieceBytes))
        }
    }

    public func cancel() {
        rest.withLock { $0 = [] }
    }
}
