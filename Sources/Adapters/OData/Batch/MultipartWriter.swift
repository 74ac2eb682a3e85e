import AdapterKit

/// A batch's answers as `multipart/mixed` (Protocol 4.01, section 11.7.7.5).
struct MultipartWriter: BatchWriter {
    let headers: MountHeaders
    private let token: String
    private var boundary: String { "batchresponse_\(token)" }
    private var bytes: [UInt8] = []

    init(headers: MountHeaders) {
        // Random, so that no body holds a boundary made of it but by intent, and then nobody else's.
        token = String(UInt64.random(in: .min ... .max), radix: 36)
        var headers = headers
        headers["Content-Type"] = "multipart/mixed; boundary=batchresponse_\(token)"
        self.headers = headers
    }

    func beginning() -> [UInt8] { [] }

    mutating func whole(_ outcome: BatchOutcome) -> [UInt8] {
        write(outcome)
        return take()
    }

    /// Its end is where the next boundary begins.
    mutating func opening(_ reply: BatchReply) -> [UInt8]? {
        write(reply, boundary: boundary)
        return take()
    }

    mutating func closing() -> [UInt8] {
        line("")
        return take()
    }

    mutating func ending() -> [UInt8] {
        line("--\(boundary)--")
        return take()
    }

    private mutating func take() -> [UInt8] {
        defer { bytes = [] }
        return bytes
    }

    private mutating func write(_ outcome: BatchOutcome) {
        switch outcome {
        case .reply(let reply): write(reply, boundary: boundary)
        case .failedSet(let replies, let failed): write(replies[failed], boundary: boundary)
        case .changeSet(let replies):
            let inner = "changesetresponse_\(token)"
            line("--\(boundary)")
            line("Content-Type: multipart/mixed; boundary=\(inner)")
            line("")
            for reply in replies { write(reply, boundary: inner) }
            line("--\(inner)--")
        }
    }

    private mutating func write(_ reply: BatchReply, boundary: String) {
        line("--\(boundary)")
        line("Content-Type: application/http")
        line("Content-Transfer-Encoding: binary")
        if let id = reply.id { line("Content-ID: \(id)") }
        line("")
        bytes += Self.message(reply.answer)
        if case .bytes = reply.answer.body { line("") }
    }

    /// One answer as HTTP writes it.
    static func message(_ answer: MountResponse) -> [UInt8] {
        let body = answer.wholeBody
        return head(of: answer, size: body.count) + body
    }

    /// Its status and fields; `size` are the body's bytes.
    static func head(of answer: MountResponse, size: Int) -> [UInt8] {
        var lines = ["HTTP/1.1 \(answer.status) \(StatusPhrase.of(answer.status))"]
        lines += answer.headers.fields.map { "\($0.name): \($0.value)" }
        if size > 0 { lines.append("Content-Length: \(size)") }
        return Array((lines + ["", ""]).joined(separator: "\r\n").utf8)
    }

    private mutating func line(_ text: String) { bytes += Array(text.utf8) + [0x0D, 0x0A] }
}

extension MountResponse {
    /// Nothing of one that comes in pieces.
    var wholeBody: [UInt8] {
        if case .bytes(let bytes) = body { bytes } else { [] }
    }
}

/// Reason phrases of those statuses that services answer (RFC 9110, section 15).
enum StatusPhrase {
    static func of(_ status: Int) -> String {
        switch status {
        case 200: "OK"
        case 201: "Created"
        case 202: "Accepted"
        case 204: "No Content"
        case 304: "Not Modified"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 406: "Not Acceptable"
        case 409: "Conflict"
        case 410: "Gone"
        case 412: "Precondition Failed"
        case 415: "Unsupported Media Type"
        case 424: "Failed Dependency"
        case 500: "Internal Server Error"
        case 501: "Not Implemented"
        case 503: "Service Unavailable"
        default: "Status"
        }
    }
}
