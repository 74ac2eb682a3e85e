import AdapterKit
import WireFormats

/// A batch as JSON (JSON Format 4.01, section 19.1).
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

    /// Members of a group stand next to each other; ids are there once, and refer to what stands before.
    private func grouped(_ requests: [WireValue]) throws(PorticoError) -> [BatchStep] {
        var steps: [BatchStep] = []
        var known: Set<String> = []
        for (index, request) in requests.enumerated() {
            let place = "requests[\(index)]"
            let call = try call(request, place)
            guard let id = call.id, !known.contains(id) else {
                throw PorticoError(.requestInvalid, "An id is there once.", target: "\(place).id")
            }
            guard call.needs.allSatisfy(known.contains) else {
                throw PorticoError(
                    .requestInvalid, "A request depends on those before it.", target: "\(place).dependsOn")
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
                        .requestInvalid, "A group's requests stand together.", target: "\(place).atomicityGroup")
                }
                steps.append(.changeSet(group, [call]))
            }
        }
        return steps
    }

    private func call(_ request: WireValue, _ place: String) throws(PorticoError) -> BatchCall {
        guard let id = request["id"]?.stringValue, let method = request["method"]?.stringValue,
            let url = request["url"]?.stringValue
        else { throw PorticoError(.requestInvalid, "A request has `id`, `method` and `url`.", target: place) }
        var headers = try headers(request["headers"]?.dictionaryValue ?? [:])
        let body = try Self.body(request["body"], &headers, place)
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
        _ value: WireValue?, _ headers: inout MountHeaders, _ place: String
    ) throws(PorticoError) -> [UInt8] {
        guard let value else { return [] }
        let type = (headers["Content-Type"] ?? "application/json").lowercased()
        if headers["Content-Type"] == nil { headers["Content-Type"] = "application/json" }
        if type.hasPrefix("application/json") || type.contains("+json") {
            guard let bytes = try? JSONFormat().write(value) else {
                throw PorticoError(.requestInvalid, "The body cannot be carried as JSON.", target: "\(place).body")
            }
            return bytes
        }
        guard let text = value.stringValue else {
            throw PorticoError(.requestInvalid, "A body that is no JSON is a string.", target: "\(place).body")
        }
        if type.hasPrefix("text/") { return Array(text.utf8) }
        guard let bytes = Base64URL.decode(lenient: text) else {
            throw PorticoError(.requestInvalid, "The body is base64url.", target: "\(place).body")
        }
        return bytes
    }
}
