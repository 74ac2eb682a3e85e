import AdapterKit

/// `OData-Version` and `OData-MaxVersion` (Protocol 4.01, sections 8.1.5 and 8.2.7).
struct ProtocolVersion {
    let answered: String

    init(_ headers: DoorHeaders) throws(PorticoError) {
        if let sent = headers["OData-Version"], sent != "4.0", sent != "4.01" {
            throw PorticoError(.requestInvalid, "This service speaks OData 4.0 and 4.01.", target: "OData-Version")
        }
        guard let maximum = headers["OData-MaxVersion"] else {
            answered = "4.01"
            return
        }
        guard let number = Double(maximum), number >= 4 else {
            throw PorticoError(.notAcceptable, "This service speaks OData 4.0 and 4.01.", target: "OData-MaxVersion")
        }
        answered = number < 4.01 ? "4.0" : "4.01"
    }
}
