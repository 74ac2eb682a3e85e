import AdapterKit
import ODataModel
import Synchronization

/// Writes a response body while its rows are read. Small bodies are buffered, large ones are streamed at the pace of
/// the client.
///
/// A body is first written into a buffer of limited size. If it does not fit, writing starts again as a stream in a
/// read that may last longer. Requests whose last response was large start as a stream.
struct DocumentReading: Sendable {
    /// Reads and writes, and flushes what it has written at the end.
    typealias Write = @Sendable (any RecordSnapshot, DocumentSink) throws -> Void

    let records: any RecordStore
    let limits: ServiceLimits
    /// Whose document it is.
    let address: UntokenedAddress
    let long: LongResponseHistory

    func body(_ write: @escaping Write) async throws -> MountResponse.Body {
        let most = limits.wholeBytes
        if !long.expects(address) {
            let whole = try await records.withReadSnapshot { try Self.whole(upTo: most, at: $0, write) }
            if let whole { return .bytes(whole) }
            long.note(address)
        }
        return try await begun(
            try await records.streamSnapshot(within: .seconds(limits.streamSeconds)) { [limits] snapshot, output in
                var (part, sent): ([UInt8], Int) = ([], 0)
                let sink = DocumentSink { more in
                    try snapshot.checkCancellation()
                    part += more
                    guard part.count >= Self.piece else { return }
                    sent += part.count
                    guard sent <= limits.answerBytes else { throw Self.tooLong(limits.answerBytes) }
                    try output.send(part)
                    part = []
                }
                try write(snapshot, sink)
                if !part.isEmpty { try output.send(part) }
            })
    }

    private static func tooLong(_ most: Int) -> PorticoError {
        PorticoError(.requestLimitExceeded, "An answer has at most \(most) bytes; ask for less of it.")
    }

    /// Bytes that leave at a time.
    private static let piece = 64 << 10

    private struct TooLarge: Error {}

    /// Nil where there is more.
    private static func whole(upTo most: Int, at snapshot: any RecordSnapshot, _ write: Write) throws -> [UInt8]? {
        var document: [UInt8] = []
        let sink = DocumentSink { part in
            try snapshot.checkCancellation()
            guard document.count + part.count <= most else { throw TooLarge() }
            // Most answers are one part and an end.
            if document.isEmpty { document = part } else { document += part }
        }
        do {
            try write(snapshot, sink)
        } catch is TooLarge {
            return nil
        }
        return document
    }

    /// What fails before the first piece is a failure like any other, with a status of its own.
    private func begun(_ pieces: any ByteStream) async throws -> MountResponse.Body {
        let first = try await withTaskCancellationHandler {
            try await pieces.next()
        } onCancel: {
            pieces.cancel()
        }
        guard let first, first.count >= min(Self.piece, limits.wholeBytes) else { return .bytes(first ?? []) }
        return .stream(PrefetchedBody(first, pieces))
    }
}

/// Remembers which addresses had long responses lately (``LongReadEstimate``), so that they are streamed at once.
final class LongResponseHistory: Sendable {
    private let estimate = Mutex(LongReadEstimate())

    func expects(_ address: UntokenedAddress) -> Bool {
        estimate.withLock { $0.expectsLong(address.text.hashValue) }
    }

    func note(_ address: UntokenedAddress) {
        estimate.withLock { $0.noteLong(address.text.hashValue) }
    }
}

/// A response body whose first piece was already taken from the source.
final class PrefetchedBody: ByteStream {
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
