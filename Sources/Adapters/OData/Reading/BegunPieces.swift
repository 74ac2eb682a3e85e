import AdapterKit
import Synchronization

/// Pieces of which the first was taken already.
final class BegunPieces: ByteStream {
    private let first: Mutex<[UInt8]?>
    private let rest: any ByteStream

    init(_ first: [UInt8], _ rest: any ByteStream) {
        self.first = Mutex(first)
        self.rest = rest
    }

    func next() async throws -> [UInt8]? {
        let first = first.withLock { first in
            defer { first = nil }
            return first
        }
        if let first { return first }
        return try await rest.next()
    }

    func cancel() { rest.cancel() }
}
