import Client
import Synchronization
import ValueTree
import WireFormats

/// Answers as a closure says, and remembers what was asked.
final class ScriptedTransport: Transport {
    private let answer: @Sendable (TransportRequest) async throws -> TransportResponse
    private let asked = Mutex<[TransportRequest]>([])

    init(_ answer: @escaping @Sendable (TransportRequest) async throws -> TransportResponse) {
        self.answer = answer
    }

    var requests: [TransportRequest] { asked.withLock { $0 } }

    func requests(at path: String) -> [TransportRequest] { requests.filter { $0.url.hasSuffix(path) } }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        asked.withLock { $0.append(request) }
        return try await answer(request)
    }
}

extension TransportResponse {
    static func value(_ value: WireValue, status: Int = 200) throws -> TransportResponse {
        TransportResponse(
            status: status, headers: [Header("content-type", "application/cbor")], body: try CBORFormat().write(value))
    }

    static func refused(_ status: Int, _ code: String) throws -> TransportResponse {
        try value(["error": ["code": .string(code), "message": "No.", "requestId": "r1"]], status: status)
    }
}

extension TransportRequest {
    var token: String? { headers.first { $0.name == "Authorization" }?.value }
    var value: WireValue { (try? CBORFormat().read(body ?? [])) ?? .null }
}
