import Client
import Foundation
import Synchronization
import ValueTree

/// Serves one feed as a test says, and remembers what it was asked.
final class FeedServer: Sendable {
    enum Reply: Sendable {
        case document(String, etag: String? = nil)
        case text(Int, String)
        case bytes([UInt8])
        case notModified
        case failure(TransportError)
        /// Until the request is cancelled.
        case never
    }

    private let state = Mutex<(next: Reply, requests: [TransportRequest])>((.never, []))

    var next: Reply {
        get { state.withLock { $0.next } }
        set { state.withLock { $0.next = newValue } }
    }

    var requests: [TransportRequest] { state.withLock { $0.requests } }

    func answer(_ request: TransportRequest) async throws -> TransportResponse {
        state.withLock { $0.requests.append(request) }
        switch next {
        case .document(let text, let etag):
            let headers = etag.map { [Header("ETag", $0)] } ?? []
            return TransportResponse(status: 200, headers: headers, body: Array(Self.document(text).utf8))
        case .text(let status, let text): return TransportResponse(status: status, body: Array(text.utf8))
        case .bytes(let bytes): return TransportResponse(status: 200, body: bytes)
        case .notModified: return TransportResponse(status: 304)
        case .failure(let error): throw error
        case .never:
            while true { try await Task.sleep(for: .milliseconds(1)) }
        }
    }

    static func document(_ text: String) -> String {
        """
        <?xml version="1.0" encoding="UTF-8"?>
        <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
        <plist version="1.0"><dict><key>text</key><string>\(text)</string></dict></plist>
        """
    }
}

/// A second passes with each look.
final class StepClock: Sendable {
    private let seconds = Mutex(1_000.0)

    func next() -> Date {
        seconds.withLock {
            $0 += 1
            return Date(timeIntervalSinceReferenceDate: $0)
        }
    }
}

/// Writes down what a delegate is told, with what the controller has at that moment.
@MainActor
final class Hearer: PlistFeedDelegate {
    weak var feed: PlistFeedController?
    var allows = true
    private(set) var heard: [String] = []
    private(set) var asked = 0
    private(set) var errors: [PlistFeedError] = []

    private var text: String { feed?.data?["text"]?.stringValue ?? "nothing" }

    func shouldDownloadRemoteData(_ controller: PlistFeedController) -> Bool {
        asked += 1
        return allows
    }

    func plistFeedWillChange(_ controller: PlistFeedController) { heard.append("will \(text)") }
    func plistFeedDidChange(_ controller: PlistFeedController) { heard.append("did \(text)") }

    func plistFeed(_ controller: PlistFeedController, didFail error: PlistFeedError) {
        heard.append("failed \(error.code.rawValue)")
        errors.append(error)
    }
}
