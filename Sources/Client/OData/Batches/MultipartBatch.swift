import Foundation
import ValueTree

/// A batch as `multipart/mixed` (OData 4.01 Protocol, section 11.7.7; version 2 has the same).
struct MultipartBatch {
    private let version: ODataVersion
    private let boundary = "batch-of-requests"
    private let changesBoundary = "set-of-changes"
    private static let newline = "\r\n"

    init(_ version: ODataVersion) {
        self.version = version
    }

    var mediaType: String { "multipart/mixed; boundary=\(boundary)" }

    /// JSON writes a line break of a text as `\n`, so nothing that a value holds begins a line and could be a boundary.
    func write(_ parts: [ODataBatch.Part]) throws -> [UInt8] {
        var text: [UInt8] = []
        for part in parts {
            switch part {
            case .read(_, let call): text += try opening(boundary) + request(call, id: nil)
            case .changes(let calls):
                text += lines("--\(boundary)", "Content-Type: multipart/mixed; boundary=\(changesBoundary)", "")
                for (number, call) in calls {
                    text += try opening(changesBoundary, id: number) + request(call, id: number)
                }
                text += lines("--\(changesBoundary)--")
            }
        }
        return text + lines("--\(boundary)--")
    }

    private func opening(_ boundary: String, id: Int? = nil) -> [UInt8] {
        var head = ["--\(boundary)", "Content-Type: application/http", "Content-Transfer-Encoding: binary"]
        if let id { head.append("Content-ID: \(id)") }
        return Array((head + [""]).map { $0 + Self.newline }.joined().utf8)
    }

    private func request(_ call: ODataCall, id: Int?) throws -> [UInt8] {
        // From the service's root on.
        let target = ServerCall(call.method, path: call.path, query: call.query).target.dropFirst()
        var body: [UInt8] = []
        if case .json(let value)? = call.body { body = try ODataCall.bytes(value) }
        var head = ["\(call.method) \(target) HTTP/1.1"]
        for header in call.headers { head.append("\(header.name): \(header.value)") }
        for (name, value) in version.headers where name != "OData-Version" { head.append("\(name): \(value)") }
        if call.body != nil { head += ["Content-Type: \(version.mediaType)", "Content-Length: \(body.count)"] }
        return Array((head + [""]).map { $0 + Self.newline }.joined().utf8) + body + Array(Self.newline.utf8)
    }

    private func lines(_ lines: String...) -> [UInt8] { Array(lines.map { $0 + Self.newline }.joined().utf8) }
}

// MARK: - Reading

extension MultipartBatch {
    /// The answers by the numbers of their requests.
    func read(_ response: TransportResponse, _ parts: [ODataBatch.Part]) throws(ClientError) -> [Int: TransportResponse]
    {
        guard let boundary = Self.boundary(response.header("content-type")) else {
            throw .unreadableAnswer("a batch that was answered with \(response.header("content-type") ?? "nothing")")
        }
        var answers: [Int: TransportResponse] = [:]
        for (part, found) in zip(parts, try Self.split(response.body, boundary)) {
            switch part {
            case .read(let number, _): answers[number] = try found.embedded()
            case .changes(let calls):
                guard let inner = Self.boundary(found.header("content-type")) else {
                    // The one answer is that of the change that failed, and nothing of the set happened.
                    let failure = try found.embedded()
                    for (number, _) in calls { answers[number] = failure }
                    continue
                }
                let made = try Self.split(found.body, inner)
                for (place, one) in made.enumerated() where place < calls.count {
                    let number = one.header("content-id").flatMap { Int($0) } ?? calls[place].0
                    answers[number] = try one.embedded()
                }
            }
        }
        return answers
    }

    private static func boundary(_ type: String?) -> String? {
        guard let type, type.lowercased().hasPrefix("multipart/mixed"), let start = type.range(of: "boundary=") else {
            return nil
        }
        let rest = type[start.upperBound...]
        return rest.first == "\"" ? String(rest.dropFirst().prefix { $0 != "\"" }) : String(rest.prefix { $0 != ";" })
    }

    private static func split(_ body: [UInt8], _ boundary: String) throws(ClientError) -> [TransportResponse] {
        let mark = Array("--\(boundary)".utf8)
        var (parts, start): ([TransportResponse], Int?) = ([], nil)
        var place = 0
        while place < body.count {
            let end = body[place...].firstIndex(of: UInt8(ascii: "\n")) ?? body.count
            if body[place..<end].starts(with: mark) {
                // The line break before a boundary belongs to it.
                if let start { parts.append(try MessageText(Array(body[start..<max(start, place)])).part()) }
                if body[place..<end].dropFirst(mark.count).starts(with: Array("--".utf8)) { return parts }
                start = end + 1
            }
            place = end + 1
        }
        throw .unreadableAnswer("a batch that is cut off")
    }
}

extension TransportResponse {
    fileprivate func embedded() throws(ClientError) -> TransportResponse { try MessageText(body).response() }
}

/// A MIME part or an HTTP message as text: header lines, an empty one, a body.
struct MessageText {
    private var lines: [String] = []
    private var body: [UInt8] = []

    init(_ bytes: [UInt8]) {
        var place = 0
        while place < bytes.count {
            let end = bytes[place...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
            let line = String(decoding: bytes[place..<end], as: UTF8.self).filter { $0 != "\r" && $0 != "\r\n" }
            place = min(end + 1, bytes.count)
            if line.isEmpty { break }
            lines.append(line)
        }
        body = Array(bytes[place...])
    }

    /// A part of a multipart body; the status says nothing.
    func part() throws(ClientError) -> TransportResponse {
        TransportResponse(status: 0, headers: headers(lines[...]), body: body)
    }

    /// `HTTP/1.1 200 OK` and what follows it.
    func response() throws(ClientError) -> TransportResponse {
        let words = lines.first?.split(separator: " ", maxSplits: 2) ?? []
        guard words.count >= 2, words[0].hasPrefix("HTTP/"), let status = Int(words[1]) else {
            throw .unreadableAnswer("an answer of a batch without its status")
        }
        var response = TransportResponse(status: status, headers: headers(lines.dropFirst()), body: body)
        let length = response.header("content-length").flatMap { Int($0) } ?? Self.trimmed(body).count
        response.body = Array(body.prefix(length))
        return response
    }

    private func headers(_ lines: ArraySlice<String>) -> [Header] {
        lines.compactMap { line in
            guard let colon = line.firstIndex(of: ":") else { return nil }
            let value = line[line.index(after: colon)...].drop { $0 == " " }
            return Header(String(line[..<colon]), String(value))
        }
    }

    private static func trimmed(_ body: [UInt8]) -> ArraySlice<UInt8> {
        var rest = body[...]
        while let last = rest.last, last == 0x0A || last == 0x0D { rest = rest.dropLast() }
        return rest
    }
}
