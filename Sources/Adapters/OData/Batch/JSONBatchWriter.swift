import AdapterKit

/// A batch's answers as JSON (JSON Format 4.01, section 19.5).
struct JSONBatchWriter: BatchWriter {
    let headers: MountHeaders = ["Content-Type": "application/json", "OData-Version": "4.01"]
    private var needsComma = false

    mutating func beginning() -> [UInt8] {
        written { output in
            output.beginObject()
            output.key("responses")
            output.beginArray()
        }
    }

    mutating func whole(_ outcome: BatchOutcome) -> [UInt8] {
        written { [self] output in
            switch outcome {
            case .reply(let reply): write(reply, to: &output)
            case .changeSet(let replies), .failedSet(let replies, _):
                for reply in replies { write(reply, to: &output) }
            }
        }
    }

    /// JSON alone stands in it as it is.
    mutating func opening(_ reply: BatchReply) -> [UInt8]? {
        guard reply.answer.isJSON else { return nil }
        return written { [self] output in
            writeHead(of: reply, to: &output)
            output.key("body")
            output.raw("")
        }
    }

    mutating func closing() -> [UInt8] { written { $0.endObject() } }

    mutating func ending() -> [UInt8] {
        written { output in
            output.endArray()
            output.endObject()
        }
    }

    private mutating func written(_ write: (inout JSONOutput) -> Void) -> [UInt8] {
        var output = JSONOutput(after: needsComma)
        write(&output)
        needsComma = output.needsComma
        return output.bytes
    }

    private func write(_ reply: BatchReply, to output: inout JSONOutput) {
        writeHead(of: reply, to: &output)
        writeBody(of: reply.answer, to: &output)
        output.endObject()
    }

    private func writeHead(of reply: BatchReply, to output: inout JSONOutput) {
        output.beginObject()
        if let id = reply.id { output.member("id", id) }
        if let group = reply.group { output.member("atomicityGroup", group) }
        output.key("status")
        output.raw(String(reply.answer.status))
        guard !reply.answer.headers.fields.isEmpty else { return }
        output.key("headers")
        output.beginObject()
        for field in reply.answer.headers.fields { output.member(field.name.lowercased(), field.value) }
        output.endObject()
    }

    /// JSON as it is, a text as a text, anything else as base64url.
    private func writeBody(of answer: MountResponse, to output: inout JSONOutput) {
        let body = answer.wholeBody
        guard !body.isEmpty else { return }
        output.key("body")
        if answer.isJSON {
            output.raw(String(decoding: body, as: UTF8.self))
        } else if answer.isText, let text = String(validating: body, as: UTF8.self) {
            output.string(text)
        } else {
            output.string(Base64URL.encode(body))
        }
    }
}

extension MountResponse {
    private var type: String { (headers["Content-Type"] ?? "").lowercased() }
    fileprivate var isJSON: Bool { type.hasPrefix("application/json") || type.contains("+json") }
    fileprivate var isText: Bool { type.hasPrefix("text/") || type.contains("xml") }
}
