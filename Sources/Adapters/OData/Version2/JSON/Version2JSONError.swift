import AdapterKit

/// SAP's error in JSON: `{"error":{"code","message":{"lang","value"},"innererror":{…}}}`, the members that its clients
/// look for in `innererror`.
struct Version2JSONError {
    private let failure: Version2Error

    init(_ failure: Version2Error) {
        self.failure = failure
    }

    func write(to output: inout JSONOutput) {
        output.key("error")
        output.beginObject()
        output.member("code", failure.error.code.rawValue)
        output.key("message")
        output.beginObject()
        output.member("lang", Version2Error.language)
        output.member("value", failure.error.message)
        output.endObject()
        output.key("innererror")
        output.beginObject()
        output.member("transactionid", failure.requestID)
        output.key("errordetails")
        output.beginArray()
        for detail in [failure.error] + failure.details { self.detail(detail, to: &output) }
        output.endArray()
        output.endObject()
        output.endObject()
    }

    private func detail(_ error: PorticoError, to output: inout JSONOutput) {
        output.beginObject()
        output.member("code", error.code.rawValue)
        output.member("message", error.message)
        output.member("propertyref", error.target ?? "")
        output.member("severity", "error")
        output.endObject()
    }
}
