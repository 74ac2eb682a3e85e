import AdapterKit

/// The fields of a form as a body (`application/x-www-form-urlencoded`): `http.limits.formFields` of them, none longer
/// than `http.limits.formField`. Both are looked at before anything is decoded.
struct FormReader: Sendable {
    private let mostFields: Int
    private let longestField: Int

    init(_ limits: GatewayLimits) {
        mostFields = limits.formFields
        longestField = limits.formField
    }

    /// Throws `request.limitExceeded`, and `request.malformed` for a form that is not well encoded.
    func fields(of body: [UInt8]) throws(PorticoError) -> [RequestTarget.QueryItem] {
        try checkSizes(body)
        guard let text = String(validating: body, as: UTF8.self),
            let items = FormText.items(text[...], atMost: mostFields)
        else { throw PorticoError(.requestMalformed, "The form is not well encoded.") }
        return items
    }

    /// Of one field, its name included.
    func checkLength(_ bytes: Int) throws(PorticoError) {
        guard bytes <= longestField else {
            throw PorticoError(.requestLimitExceeded, "A field of a form has at most \(longestField) bytes.")
        }
    }

    private func checkSizes(_ body: [UInt8]) throws(PorticoError) {
        var fields = 0
        var start = body.startIndex
        while start < body.endIndex {
            let end = body[start...].firstIndex(of: UInt8(ascii: "&")) ?? body.endIndex
            if end > start { fields += 1 }
            try checkLength(end - start)
            guard fields <= mostFields else {
                throw PorticoError(.requestLimitExceeded, "A form has at most \(mostFields) fields.")
            }
            start = end + 1
        }
    }
}
