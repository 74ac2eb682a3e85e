import AdapterKit

/// A batch's answers as JSON (JSON Format 4.01, section 19.5).
enum JSONBatchWriter {
    static func answer(_ outcomes: [BatchOutcome]) -> DoorAnswer {
        var output = JSONOutput()
        output.beginObject()
        output.key("responses")
        output.beginArray()
        for outcome in outcomes {
            switch outcome {
            case .reply(let reply): write(reply, to: &output)
            case .changeSet(let replies), .failedSet(let replies, _):
                for reply in replies { write(reply, to: &output) }
            }
        }
        output.endArray()
        output.endObject()
        return DoorAnswer(
            200, headers: ["Content-Type": "application/json", "OData-Version": "4.01"], body: output.bytes)
    }

    private static func write(_ reply: BatchReply, to output: inout JSONOutput) {
        output.beginObject()
        if let id = reply.id { output.member("id", id) }
        if let group = reply.group { output.member("atomicityGroup", group) }
        output.key("status")
        output.raw(String(reply.answer.status))
        if !reply.answer.headers.fields.isEmpty {
            output.key("headers")
            output.beginObject()
            for field in reply.answer.headers.fields { output.member(field.name.lowercased(), field.value) }
            output.endObject()
        }
        writeBody(of: reply.answer, to: &output)
        output.endObject()
    }

    /// JSON as it is, a text as a text, anything else as base64url.
    private static func writeBody(of answer: DoorAnswer, to output: inout JSONOutput) {
        let body = answer.wholeBody
        guard !body.isEmpty else { return }
        let type = (answer.headers["Content-Type"] ?? "").lowercased()
        output.key("body")
        if type.hasPrefix("application/json") || type.contains("+json") {
            output.raw(String(decoding: body, as: UTF8.self))
        } else if type.hasPrefix("text/") || type.contains("xml"), let text = String(validating: body, as: UTF8.self) {
            output.string(text)
        } else {
            output.string(Base64URL.encode(body))
        }
    }
}
