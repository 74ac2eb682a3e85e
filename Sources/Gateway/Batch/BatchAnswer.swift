import AdapterKit
import HTTPTypes
import NIOCore
import Synchronization
import ValueTree

/// What became of one call of a batch.
struct BatchAnswer: Sendable {
    let id: String
    let status: Int
    var headers: WireDictionary
    /// Nil where there is none, or where it could not be carried.
    var body: WireValue?
    /// Why the body is not here. The call was made all the same, and ``status`` is its own.
    var error: PorticoError?

    init(id: String, _ response: GatewayResponse) {
        self.id = id
        status = response.status.code
        headers = WireDictionary()
        for field in response.headers {
            let name = field.name.canonicalName
            headers[name] = .string(headers[name]?.stringValue.map { "\($0), \(field.value)" } ?? field.value)
        }
    }

    /// `{"id", "status", "headers", "body"}`, or `error` instead of `body`.
    var value: WireValue {
        var members: WireDictionary = ["id": .string(id), "status": .int64(Int64(status))]
        if !headers.isEmpty { members["headers"] = .dictionary(headers) }
        if let error {
            members["error"] = ["code": .string(error.code.rawValue), "message": .string(error.message)]
        } else {
            members["body"] = body ?? .null
        }
        return .dictionary(members)
    }

    /// The same without what the batch's format cannot carry: the body, and where that is not enough, the header fields.
    func leavingOutWhatFails(_ write: (BatchAnswer) throws(PorticoError) -> Void) -> BatchAnswer {
        var answer = self
        do throws(PorticoError) {
            try write(answer)
            return answer
        } catch {
            answer.body = nil
            answer.error = PorticoError(error.code, "The batch's format cannot carry this body.")
        }
        do throws(PorticoError) { try write(answer) } catch { answer.headers = [:] }
        return answer
    }
}

/// How many bytes the bodies of one batch may still take, shared by its calls.
final class BatchBudget: Sendable {
    let limit: Int
    private let left: Mutex<Int>

    init(bytes: Int) {
        limit = bytes
        left = Mutex(bytes)
    }

    func take(_ bytes: Int) throws(PorticoError) {
        let isEnough = left.withLock { left in
            guard bytes <= left else { return false }
            left -= bytes
            return true
        }
        guard isEnough else {
            throw PorticoError(
                .requestLimitExceeded, "The answers of a batch have at most \(limit) bytes. Ask for this one by itself."
            )
        }
    }
}

extension GatewayResponse {
    /// The body to its end, a streamed one too.
    func wholeBody(within budget: BatchBudget) async throws(PorticoError) -> [UInt8] {
        try budget.take(buffer.readableBytes)
        guard let stream else { return body }
        defer { stream.end() }
        var bytes: [UInt8] = []
        do {
            while let piece = try await stream.next() {
                try budget.take(piece.readableBytes)
                bytes.append(contentsOf: piece.readableBytesView)
            }
        } catch {
            throw PorticoError(unexpected: error)
        }
        return bytes
    }
}
