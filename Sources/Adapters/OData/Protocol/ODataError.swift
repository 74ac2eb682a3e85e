import AdapterKit

/// A failure with what OData's error body can tell beyond a ``PorticoError`` (JSON Format 4.01, section 21.1).
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

    /// The body, whoever raised the failure.
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
