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
