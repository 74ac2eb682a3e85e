import AdapterKit

/// `OData-Version` and `OData-MaxVersion` (Protocol 4.01, sections 8.1.5 and 8.2.7).
struct ProtocolVersion {
    let answered: String

    /// The version that a body is in is of no matter where there is none.
    init(_ headers: MountHeaders, hasBody: Bool) throws(PorticoError) {
        if hasBody, let sent = headers["OData-Version"], sent != "4.0", sent != "4.01" {
            throw PorticoError(.requestInvalid, "This service speaks OData 4.0 and 4.01.", target: "OData-Version")
        }
        guard Self.maximum(headers).map({ $0 >= 4 }) ?? true else {
            throw PorticoError(.notAcceptable, "This service speaks OData 4.0 and 4.01.", target: "OData-MaxVersion")
        }
        answered = Self.failing(headers)
    }

    /// What a failure is told in, whatever was asked.
    static func failing(_ headers: MountHeaders) -> String {
        guard let maximum = maximum(headers), maximum >= 4 else { return "4.01" }
        return maximum < 4.01 ? "4.0" : "4.01"
    }

    /// Nil where none was sent; nothing is less than what is no number.
    private static func maximum(_ headers: MountHeaders) -> Double? {
        headers["OData-MaxVersion"].map { Double($0) ?? -.infinity }
    }
}
