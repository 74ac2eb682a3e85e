import AdapterKit

/// An error with the parts of OData's error body and status that ``PorticoError`` lacks (JSON Format 4.01, section
/// 21.1).
struct ODataError: Error {
    let error: PorticoError
    /// Where the code's own status is not the one that the protocol prescribes.
    var status: Int?
    var details: [PorticoError] = []
    var headers: MountHeaders = [:]

    init(_ error: PorticoError, status: Int? = nil, details: [PorticoError] = [], headers: MountHeaders = [:]) {
        self.error = error
        self.status = status
        self.details = details
        self.headers = headers
    }

    static func notImplemented(_ what: String) -> ODataError {
        ODataError(PorticoError(.requestInvalid, "\(what) is not implemented."), status: 501)
    }

    static func methodNotAllowed(_ message: String, allowed: String) -> ODataError {
        ODataError(PorticoError(.methodNotAllowed, message), headers: ["Allow": allowed])
    }

    /// The error body.
    static func body(_ error: PorticoError, details: [PorticoError] = [], requestID: String) -> [UInt8] {
        var output = JSONOutput()
        output.beginObject()
        output.key("error")
        output.beginObject()
        members(error, to: &output)
        if !details.isEmpty {
            output.key("details")
            output.beginArray()
            for detail in details {
                output.beginObject()
                members(detail, to: &output)
                output.endObject()
            }
            output.endArray()
        }
        output.key("innererror")
        output.beginObject()
        output.member("requestId", requestID)
        output.endObject()
        output.endObject()
        output.endObject()
        return output.bytes
    }

    private static func members(_ error: PorticoError, to output: inout JSONOutput) {
        output.member("code", error.code.rawValue)
        output.member("message", error.message)
        if let target = error.target, !target.isEmpty { output.member("target", target) }
    }
}

/// The header fields of an error response: its language (Protocol 4.01, section 9.4) and a version that the client
/// understands.
enum ErrorHeaders {
    static func of(_ request: MountHeaders) -> MountHeaders {
        [
            "Content-Type": "application/json", "Content-Language": "en",
            "OData-Version": ProtocolVersion.failing(request), "Vary": VaryHeader.fields,
        ]
    }
}

/// Makes responses with the header fields that all OData responses have (Protocol 4.01, section 8.3).
struct ResponseBuilder: Sendable {
    let format: ResponseFormat

    func json(_ body: [UInt8], status: Int = 200, headers: MountHeaders = [:]) -> MountResponse {
        json(.bytes(body), status: status, headers: headers)
    }

    func json(_ body: MountResponse.Body, status: Int = 200, headers: MountHeaders = [:]) -> MountResponse {
        var headers = headers
        headers["Content-Type"] = format.mediaType
        headers["OData-Version"] = format.version
        return MountResponse(status, headers: headers, body: body)
    }

    func text(_ body: [UInt8], type: String, status: Int = 200, headers: MountHeaders = [:]) -> MountResponse {
        var headers = headers
        headers["Content-Type"] = type
        headers["OData-Version"] = format.version
        return MountResponse(status, headers: headers, body: body)
    }

    /// Bytes that a caller stored.
    func stored(_ bytes: [UInt8], _ content: StoredContent, headers: MountHeaders = [:]) -> MountResponse {
        var answer = MountResponse(stored: bytes, as: content, headers: headers)
        answer.headers["OData-Version"] = format.version
        return answer
    }

    func nothing(_ status: Int = 204, headers: MountHeaders = [:]) -> MountResponse {
        var headers = headers
        headers["OData-Version"] = format.version
        return MountResponse(status, headers: headers)
    }
}
