/// Reads server-sent events (WHATWG HTML, section 9.2.6) out of bytes that come in any pieces.
struct ServerEvents {
    struct Event: Equatable {
        var name: String
        var data: String
        /// The id of this event or of the last one before it that had one.
        var id: String?
    }

    /// Bytes that an event may hold at most; a longer one ends the stream.
    static let largestEvent = 1 << 20

    private var line: [UInt8] = []
    private var name = ""
    private var data: [String] = []
    private var hasEnded = false
    /// The id that the stream has reached; comments may bring one without an event.
    private(set) var lastID: String?
    private var size = 0

    /// - Throws: ``TransportError/answerTooLarge(limit:)``.
    mutating func read(_ piece: [UInt8]) throws(TransportError) -> [Event] {
        var events: [Event] = []
        for byte in piece {
            guard byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") else {
                hasEnded = false
                line.append(byte)
                size += 1
                guard size <= Self.largestEvent else { throw .answerTooLarge(limit: Self.largestEvent) }
                continue
            }
            // A line feed after a carriage return belongs to it.
            if byte == UInt8(ascii: "\n"), hasEnded {
                hasEnded = false
                continue
            }
            hasEnded = byte == UInt8(ascii: "\r")
            if let event = endLine() { events.append(event) }
        }
        return events
    }

    private mutating func endLine() -> Event? {
        defer { line = [] }
        guard !line.isEmpty else { return endEvent() }
        let text = String(decoding: line, as: UTF8.self)
        let colon = text.firstIndex(of: ":") ?? text.endIndex
        var value = text[colon...].dropFirst()
        if value.first == " " { value = value.dropFirst() }
        switch text[..<colon] {
        case "event": name = String(value)
        case "data": data.append(String(value))
        case "id": if !value.contains("\0") { lastID = String(value) }
        default: break
        }
        return nil
    }

    private mutating func endEvent() -> Event? {
        defer { (name, data, size) = ("", [], 0) }
        guard !data.isEmpty else { return nil }
        return Event(name: name.isEmpty ? "message" : name, data: data.joined(separator: "\n"), id: lastID)
    }
}
