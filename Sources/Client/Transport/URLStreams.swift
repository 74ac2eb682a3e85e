import Foundation
import Synchronization

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Passes on the answers of the tasks under way as they come. Foundation calls it on a queue of its own.
final class URLStreams: NSObject, URLSessionDataDelegate {
    /// Pieces that may wait for their reader.
    private static let waitingPieces = 1024

    fileprivate struct Stream {
        /// Until the answer has begun.
        var beginning: CheckedContinuation<TransportResponse, any Error>?
        let pieces: AsyncThrowingStream<[UInt8], any Error>.Continuation
    }

    private let streams = Mutex<[Int: Stream]>([:])

    /// Returns when the answer has begun.
    func open(_ task: URLSessionDataTask) async throws -> TransportStream {
        let (pieces, continuation) = AsyncThrowingStream.makeStream(
            of: [UInt8].self, bufferingPolicy: .bufferingOldest(Self.waitingPieces))
        continuation.onTermination = { _ in task.cancel() }
        let head = try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { beginning in
                streams.withLock { $0[task.taskIdentifier] = Stream(beginning: beginning, pieces: continuation) }
                task.resume()
                if Task.isCancelled { task.cancel() }
            }
        } onCancel: {
            task.cancel()
        }
        return TransportStream(head: head, pieces: pieces)
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        let beginning = streams.withLock { $0[dataTask.taskIdentifier]?.begin() }
        beginning?.resume(returning: TransportResponse(response))
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        let pieces = streams.withLock { $0[dataTask.taskIdentifier]?.pieces }
        guard case .dropped? = pieces?.yield([UInt8](data)) else { return }
        // What was dropped cannot be delivered any more, so the stream ends here.
        pieces?.finish(throwing: TransportError.answerTooLarge(limit: Self.waitingPieces))
        dataTask.cancel()
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        guard var stream = streams.withLock({ $0.removeValue(forKey: task.taskIdentifier) }) else { return }
        let meaning = error.map(URLExchanges.meaning)
        stream.pieces.finish(throwing: meaning)
        stream.begin()?.resume(throwing: meaning ?? TransportError.unreachable("an answer without a head"))
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }
}

extension URLStreams.Stream {
    fileprivate mutating func begin() -> CheckedContinuation<TransportResponse, any Error>? {
        defer { beginning = nil }
        return beginning
    }
}

extension TransportResponse {
    init(_ answer: URLResponse) {
        self.init(status: 0)
        guard let answer = answer as? HTTPURLResponse else { return }
        status = answer.statusCode
        headers = answer.allHeaderFields.map { Header("\($0.key)", "\($0.value)") }
    }
}
