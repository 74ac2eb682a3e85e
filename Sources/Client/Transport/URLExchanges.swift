import Foundation
import Synchronization

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Gathers the answers of the tasks under way. Foundation calls it on a queue of its own.
final class URLExchanges: NSObject, URLSessionDataDelegate {
    fileprivate struct Exchange {
        let continuation: CheckedContinuation<TransportResponse, any Error>
        let largestAnswer: Int
        var response = TransportResponse(status: 0)
        var failure: TransportError?
    }

    private let exchanges = Mutex<[Int: Exchange]>([:])

    /// Ends the task where the calling one is cancelled.
    func run(_ task: URLSessionDataTask, largestAnswer: Int) async throws -> TransportResponse {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                exchanges.withLock {
                    $0[task.taskIdentifier] = Exchange(continuation: continuation, largestAnswer: largestAnswer)
                }
                // Cancelled before it began: a task that never ran would never report its end everywhere.
                task.resume()
                if Task.isCancelled { task.cancel() }
            }
        } onCancel: {
            task.cancel()
        }
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        exchanges.withLock { $0[dataTask.taskIdentifier]?.take(response) }
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        let isTooLarge = exchanges.withLock { $0[dataTask.taskIdentifier]?.take(data) ?? false }
        if isTooLarge { dataTask.cancel() }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let exchange = exchanges.withLock { $0.removeValue(forKey: task.taskIdentifier) }
        exchange?.finish(error)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        // A credential belongs to the server that it was for.
        completionHandler(nil)
    }
}

extension URLExchanges.Exchange {
    fileprivate mutating func take(_ answer: URLResponse) {
        response = TransportResponse(answer)
    }

    /// Whether the answer is too large now.
    fileprivate mutating func take(_ data: Data) -> Bool {
        guard response.body.count + data.count <= largestAnswer else {
            failure = .answerTooLarge(limit: largestAnswer)
            return true
        }
        response.body.append(contentsOf: data)
        return false
    }

    fileprivate func finish(_ error: (any Error)?) {
        if let failure { return continuation.resume(throwing: failure) }
        guard let error else { return continuation.resume(returning: response) }
        continuation.resume(throwing: URLExchanges.meaning(of: error))
    }
}

extension URLExchanges {
    static func meaning(of error: any Error) -> any Error {
        guard let error = error as? URLError else { return TransportError.unreachable("\(error)") }
        switch error.code {
        case .cancelled: return CancellationError()
        case .timedOut: return TransportError.deadlineExceeded
        case .serverCertificateUntrusted, .serverCertificateHasBadDate, .serverCertificateNotYetValid,
            .serverCertificateHasUnknownRoot, .clientCertificateRejected, .secureConnectionFailed:
            return TransportError.notTrusted(error.localizedDescription)
        default: return TransportError.unreachable(error.localizedDescription)
        }
    }
}
