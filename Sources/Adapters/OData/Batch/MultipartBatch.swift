import AdapterKit

/// Reads a batch as `multipart/mixed` (Protocol 4.01, section 11.7.7; RFC 2046, section 5.1). Parts are HTTP requests
/// or change sets, which are multipart again. Lines may end with a line feed alone.
struct MultipartReader {
    private let bytes: [UInt8]
    private let limits: BatchLimits

    init(_ bytes: [UInt8], limits: BatchLimits) {
        self.bytes = bytes
        self.limits = limits
    }

    /// Throws `request.malformed` and `request.limitExceeded`.
    func steps(contentType: String) throws(PorticoError) -> [BatchStep] {
        var steps: [BatchStep] = []
        var calls = 0
        for part in try parts(of: bytes[...], contentType: contentType, after: 0) {
            let (headers, content) = try head(part)
            let type = headers["Content-Type"] ?? ""
            if type.lowercased().hasPrefix("multipart/mixed") {
                let inner = try parts(of: content, contentType: type, after: calls).map { part throws(PorticoError) in
                    try call(part)
                }
                steps.append(.changeSet(nil, inner))
                calls += inner.count
            } else {
                steps.append(.call(try call(part)))
                calls += 1
            }
            try limits.checkRequests(calls)
        }
        return steps
    }

    /// The part between two boundary lines. `after`: so many requests were there before.
    private func parts(
        of content: ArraySlice<UInt8>, contentType: String, after before: Int
    ) throws(PorticoError) -> [ArraySlice<UInt8>] {
        guard let boundary = Self.boundary(contentType) else {
            throw Self.malformed("A multipart body names its boundary in Content-Type.")
        }
        try limits.checkBoundary(boundary)
        let separator = Array("--\(boundary)".utf8)
        var parts: [ArraySlice<UInt8>] = []
        var start: Int?
        var isClosed = false
        for line in Lines(content) where !isClosed {
            guard line.content.starts(with: separator) else { continue }
            let rest = String(decoding: line.content.dropFirst(separator.count), as: UTF8.self)
            let tail = rest.drop { $0 == " " || $0 == "\t" }
            guard tail.isEmpty || rest.hasPrefix("--") else { continue }
            if let start { parts.append(Self.withoutLastLineEnd(content[start..<line.content.startIndex])) }
            try limits.checkRequests(before + parts.count)
            start = line.end
            isClosed = rest.hasPrefix("--")
        }
        guard isClosed else { throw Self.malformed("The body does not end with its boundary.") }
        return parts
    }

    /// RFC 2046: the line end before a boundary belongs to the boundary.
    private static func withoutLastLineEnd(_ part: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        guard part.last == 0x0A else { return part }
        let shorter = part.dropLast()
        return shorter.last == 0x0D ? shorter.dropLast() : shorter
    }

    static func boundary(_ contentType: String) -> String? {
        for piece in contentType.split(separator: ";").dropFirst() {
            let pair = piece.split(separator: "=", maxSplits: 1)
            guard pair.count == 2, pair[0].filter({ $0 != " " }).lowercased() == "boundary" else { continue }
            let value = pair[1].filter { $0 != "\"" && $0 != " " }
            return value.isEmpty ? nil : value
        }
        return nil
    }

    /// Header fields up to an empty line, and what is behind it.
    private func head(_ part: ArraySlice<UInt8>) throws(PorticoError) -> (MountHeaders, ArraySlice<UInt8>) {
        var fields: [MountHeaders.Field] = []
        for line in Lines(part) {
            if line.content.isEmpty { return (MountHeaders(fields), part[line.end...]) }
            try limits.checkHead(fields: fields.count + 1, bytes: line.end - part.startIndex)
            let text = String(decoding: line.content, as: UTF8.self)
            guard let colon = text.firstIndex(of: ":") else {
                return (MountHeaders(fields), part[line.content.startIndex...])
            }
            let value = text[text.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
            fields.append(MountHeaders.Field(String(text[..<colon]), String(value)))
        }
        return (MountHeaders(fields), part[part.endIndex...])
    }

    private func call(_ part: ArraySlice<UInt8>) throws(PorticoError) -> BatchCall {
        try limits.checkPart(part.count)
        let (outer, content) = try head(part)
        guard (outer["Content-Type"] ?? "").lowercased().hasPrefix("application/http") else {
            throw Self.malformed("A part is application/http, or multipart/mixed for a change set.")
        }
        guard let first = Lines(content).first(where: { !$0.content.isEmpty }) else {
            throw Self.malformed("A part has no request in it.")
        }
        let words = String(decoding: first.content, as: UTF8.self).split(separator: " ")
        guard words.count >= 2, words.count == 2 || words.last?.hasPrefix("HTTP/") == true else {
            throw Self.malformed("A part begins with a request line.")
        }
        let (headers, body) = try head(content[first.end...])
        // Spaces inside of an address are forgiven: many clients forget to encode them there.
        let url = words.dropFirst().prefix(max(words.count - 2, 1)).joined(separator: "%20")
        return BatchCall(
            id: outer["Content-ID"] ?? headers["Content-ID"], method: String(words[0]), url: url, headers: headers,
            body: Array(body))
    }

    private static func malformed(_ message: String) -> PorticoError { PorticoError(.requestMalformed, message) }
}

/// Lines, without their ends, one after the other.
private struct Lines: Sequence, IteratorProtocol {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) {
        rest = bytes
    }

    mutating func next() -> (content: ArraySlice<UInt8>, end: Int)? {
        guard !rest.isEmpty else { return nil }
        let feed = rest.firstIndex(of: 0x0A)
        let line = rest[..<(feed ?? rest.endIndex)]
        let end = feed.map { $0 + 1 } ?? rest.endIndex
        rest = rest[end...]
        return (line.last == 0x0D ? line.dropLast() : line, end)
    }
}

/// Writes the responses of a batch as `multipart/mixed` (Protocol 4.01, section 11.7.7.5).
struct MultipartWriter: BatchWriter {
    let headers: MountHeaders
    private let token: String
    private var boundary: String { "batchresponse_\(token)" }
    private var bytes: [UInt8] = []

    init(headers: MountHeaders) {
        // Random, so that no stored body can contain the boundary by chance or by intent.
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
