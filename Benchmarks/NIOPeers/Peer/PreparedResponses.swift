import Foundation
import NIOCore
import NIOHPACK
import NIOHTTP1

/// Everything that a request is answered with, made before the first one arrives.
struct PreparedResponse: Sendable {
    let http1: HTTPResponseHead
    let http2: HPACKHeaders
    /// Nil for a status that has none.
    let body: ByteBuffer?
}

/// The answers by path and query.
struct PreparedResponses: Sendable {
    private let byTarget: [String: PreparedResponse]
    private let missing: PreparedResponse

    /// From a file of ``Recorded`` answers as JSON. Throws what Foundation throws.
    init(file: String) throws {
        let recorded = try JSONDecoder().decode([Recorded].self, from: Data(contentsOf: URL(fileURLWithPath: file)))
        byTarget = Dictionary(recorded.map { ($0.target, $0.answer) }) { first, _ in first }
        missing = Recorded(target: "", status: 404, fields: [["content-length", "0"]], body: "").answer
    }

    func answer(to target: String) -> PreparedResponse { byTarget[target] ?? missing }
}

/// An answer of the gateway, as the benchmark recorded it.
struct Recorded: Decodable {
    let target: String
    let status: Int
    /// Names and values in the order in which the gateway sent them.
    let fields: [[String]]
    let body: String

    var answer: PreparedResponse {
        let pairs = fields.map { (name: $0[0], value: $0[1]) }
        return PreparedResponse(
            http1: HTTPResponseHead(
                version: .http1_1, status: HTTPResponseStatus(statusCode: status),
                headers: HTTPHeaders(pairs.map { ($0.name, $0.value) })),
            http2: HPACKHeaders([(":status", String(status))] + pairs.map { ($0.name.lowercased(), $0.value) }),
            body: body.isEmpty ? nil : ByteBuffer(string: body))
    }
}
