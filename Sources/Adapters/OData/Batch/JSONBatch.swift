import AdapterKit
import WireFormats

/// Writes the responses of a batch in one of its formats.
protocol BatchWriter: Sendable {
    var headers: MountHeaders { get }

    /// The bytes before the first response.
    mutating func beginning() -> [UInt8]
    /// Responses with buffered bodies.
    mutating func whole(_ outcome: BatchOutcome) -> [UInt8]
    /// The bytes before a streamed body; nil where the format needs the whole body.
    mutating func opening(_ reply: BatchReply) -> [UInt8]?
    /// The bytes after such a body.
    mutating func closing() -> [UInt8]
    mutating func ending() -> [UInt8]
}

/// Reads a batch in JSON (JSON Format 4.01, section 19.1).
struct JSONBatchReader {
    let bytes: [UInt8]
    let limits: BatchLimits

    /// Throws `request.malformed`, `request.limitExceeded`, and `request.invalid` with the member at fault.
    func steps() throws(PorticoError) -> [BatchStep] {
        let document: WireValue
        do {
            document = try JSONFormat().read(bytes, limits: ReadingLimits())
        } catch {
            throw PorticoError(.requestMalformed, error.description)
        }
        guard let requests = document["requests"]?.arrayValue else {
            throw PorticoError(.requestInvalid, "A batch has its requests in `requests`.", target: "requests")
        }
        try limits.checkRequests(requests.count)
        return try grouped(requests)
    }

    /// Members of a group are adjacent; ids are unique, and references point to earlier requests.
    private func grouped(_ requests: [WireValue]) throws(PorticoError) -> [BatchStep] {
        var steps: [BatchStep] = []
        var known: Set<String> = []
        for (index, request) in requests.enumerated() {
            let entityPath = "requests[\(index)]"
            let call = try call(request, entityPath)
            guard let id = call.id, !known.contains(id) else {
                throw PorticoError(.requestInvalid, "An id is there once.", target: "\(entityPath).id")
            }
            guard call.needs.allSatisfy(known.contains) else {
                throw PorticoError(
                    .requestInvalid, "A request depends on those before it.", target: "\(entityPath).dependsOn")
            }
            known.insert(id)
            guard let group = request["atomicityGroup"]?.stringValue else {
                steps.append(.call(call))
                continue
            }
            if case .changeSet(group, let calls)? = steps.last {
                steps[steps.count - 1] = .changeSet(group, calls + [call])
            } else {
                guard known.insert(group).inserted else {
                    throw PorticoError(
                        .requestInvalid, "A group's requests stand together.", target: "\(entityPath).atomicityGroup")
                }
                steps.append(.changeSet(group, [call]))
            }
        }
        return steps
    }

    private func call(_ request: WireValue, _ entityPath: String) throws(PorticoError) -> BatchCall {
        guard let id = request["id"]?.stringValue, let method = request["method"]?.stringValue,
            let url = request["url"]?.stringValue
        else { throw PorticoError(.requestInvalid, "A request has `id`, `method` and `url`.", target: entityPath) }
        var headers = try headers(request["headers"]?.dictionaryValue ?? [:])
        let body = try Self.body(request["body"], &headers, entityPath)
        try limits.checkPart(body.count)
        return BatchCall(
            id: id, method: method.uppercased(), url: url, headers: headers, body: body,
            needs: (request["dependsOn"]?.arrayValue ?? []).compactMap(\.stringValue))
    }

    private func headers(_ given: WireDictionary) throws(PorticoError) -> MountHeaders {
        let texts = given.map { ($0.key, $0.value.stringValue ?? "") }
        try limits.checkHead(
            fields: texts.count, bytes: texts.reduce(0) { $0 + $1.0.utf8.count + $1.1.utf8.count })
        var headers = MountHeaders()
        for (name, value) in texts { headers[name] = value }
        return headers
    }

    /// JSON as it is, a text as text, anything else as base64url (section 19.1).
    private static func body(
        _ value: WireValue?, _ headers: inout MountHeaders, _ entityPath: String
    ) throws(PorticoError) -> [UInt8] {
        guard let value else { return [] }
        let type = (headers["Content-Type"] ?? "application/json").lowercased()
        if headers["Content-Type"] == nil { headers["Content-Type"] = "application/json" }
        if type.hasPrefix("application/json") || type.contains("+json") {
            guard let bytes = try? JSONFormat().write(value) else {
                throw PorticoError(.requestInvalid, "The body cannot be carried as JSON.", target: "\(entityPath).body")
            }
            return bytes
        }
        guard let text = value.stringValue else {
            throw PorticoError(.requestInvalid, "A body that is no JSON is a string.", target: "\(entityPath).body")
        }
        if type.hasPrefix("text/") { return Array(text.utf8) }
        guard let bytes = Base64URL.decode(lenient: text) else {
            throw PorticoError(.requestInvalid, "The body is base64url.", target: "\(entityPath).body")
        }
        return bytes
    }
}

/// Writes the responses of a batch in JSON (JSON Format 4.01, section 19.5).
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

    /// Only JSON is embedded without encoding.
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
