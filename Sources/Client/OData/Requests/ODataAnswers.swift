import ValueTree
import WireFormats

extension TransportResponse {
    /// The body as JSON; null where there is none.
    func odataJSON() throws(ClientError) -> WireValue {
        guard !body.isEmpty else { return .null }
        do {
            return try JSONFormat().read(body)
        } catch {
            throw .unreadableAnswer(error.description)
        }
    }

    var asksForToken: Bool { header("x-csrf-token")?.lowercased() == "required" }

    /// Either version's error (JSON Format 4.01, section 21.1; version 2's message is an object).
    var odataRefusal: Refusal {
        let error = try? odataJSON()["error"]
        func message(_ value: WireValue?) -> String? { value?.stringValue ?? value?["value"]?.stringValue }
        let inner = error?["innererror"]?["errordetails"] ?? error?["innererror"]?["errordetail"]
        let details = (error?["details"] ?? inner)?.arrayValue ?? []
        return Refusal(
            status: status, code: error?["code"]?.stringValue ?? "",
            message: message(error?["message"]) ?? "The server answered \(status).",
            requestID: error?["requestId"]?.stringValue ?? header("x-request-id"),
            retryAfter: header("retry-after").flatMap { Int64($0) }.map { .seconds($0) },
            target: (error?["target"] ?? error?["innererror"]?["target"])?.stringValue,
            details: details.map {
                Refusal.Detail(
                    code: $0["code"]?.stringValue ?? "", message: message($0["message"]) ?? "",
                    target: ($0["target"] ?? $0["propertyref"])?.stringValue)
            })
    }
}

/// What answers hold, of whichever version.
struct ODataAnswer {
    private let json: WireValue
    private let version: ODataVersion

    init(_ json: WireValue, _ version: ODataVersion) {
        self.json = version == .v2 ? json["d"] ?? json : json
        self.version = version
    }

    /// An entity, or a complex value.
    func structure<Target: ODataStructure>() throws -> Target {
        try Target(ODataRow(json, version))
    }

    var items: [WireValue]? {
        version == .v2 ? json.arrayValue ?? json["results"]?.arrayValue : json["value"]?.arrayValue
    }

    var count: Int64? { text("__count", "count").flatMap { Int64($0) } }
    var nextLink: String? { text("__next", "nextLink") }
    var deltaLink: String? { text("__delta", "deltaLink") }

    /// A value that stands alone: version 2 has it under the name of what was asked for.
    func value(_ name: String) -> WireValue? {
        version == .v2 ? json[name] ?? json : json["value"]
    }

    private func text(_ name: String, _ annotation: String) -> String? {
        version == .v2 ? json[name]?.numberText : (json["@odata." + annotation] ?? json["@" + annotation])?.numberText
    }
}
