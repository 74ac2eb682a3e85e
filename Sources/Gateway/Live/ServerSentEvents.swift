import AdapterKit
import NIOCore
import SyncMessages
import ValueTree
import WireFormats

/// Server-sent events as text (HTML, section 9.2.5).
enum ServerSentEvents {
    /// Tells a client how long to wait before it comes back, and a proxy that the body has begun.
    static let greeting = ByteBuffer(string: "retry: 2000\n\n")
    /// The same, telling the position that the stream has reached: an id without data sets it and is no event.
    static func heartbeat(id: String) -> ByteBuffer { ByteBuffer(string: ": still here\nid: \(id)\n\n") }

    /// An event that says all by its name.
    static func mark(_ name: String, id: String) -> ByteBuffer {
        ByteBuffer(string: "event: \(name)\nid: \(id)\ndata: {}\n\n")
    }

    /// An event with data in JSON.
    static func event(_ name: String, id: String?, data: WireValue) throws -> ByteBuffer {
        let options = WritingOptions.response(nulls: .error)
        return event(name, id: id, try JSONFormat().write(data, options: options), isText: true)
    }

    static let heartbeat = ByteBuffer(string: ": still here\n\n")
    /// The server stops; the client comes back by itself.
    static let reconnect = ByteBuffer(string: "retry: 500\nevent: reconnect\ndata: server.stopping\n\n")

    /// Formats that are not text stand in base64.
    static func page(_ page: PullPage, id: String, as format: any WireFormat) throws -> ByteBuffer {
        let options = WritingOptions.response(nulls: format.traits.null ? .error : .omitMember)
        let bytes = try format.write(page.wireValue, options: options)
        return event("page", id: id, bytes, isText: format.name != .bplist && format.name != .cbor)
    }

    /// The last event of a stream that cannot go on, in JSON whatever its format: `{"error": {…}}`.
    static func failure(_ error: PorticoError, requestID: String) -> ByteBuffer {
        let value = ErrorWriter.value(error, requestID: requestID, .standard)
        return event("error", id: nil, (try? JSONFormat().write(value)) ?? [], isText: true)
    }

    static func event(_ name: String, id: String?, _ data: [UInt8], isText: Bool) -> ByteBuffer {
        var buffer = ByteBuffer()
        // An event without a name reaches `onmessage`: pages are what every client listens for.
        if name != "page" { buffer.writeString("event: \(name)\n") }
        if let id { buffer.writeString("id: \(id)\n") }
        let text = isText ? data : Base64.encode(data)
        // Empty lines too: a text within a document may have them.
        for line in text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            buffer.writeString("data: ")
            buffer.writeBytes(line)
            buffer.writeString("\n")
        }
        buffer.writeString("\n")
        return buffer
    }
}
