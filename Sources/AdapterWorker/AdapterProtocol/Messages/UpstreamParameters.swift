import AdapterKit

extension UpstreamRequest {
    /// The parameters of `upstream` that say what is asked, without the body.
    public var parameters: WireDictionary {
        let message = WireValue.map(
            ("method", method.message), ("address", address.message), ("fields", fields.message),
            ("redirects", redirects.message), ("isIdempotent", isIdempotent.message), ("deadline", deadline?.message),
            ("answerLimit", answerLimit?.message), ("secretFields", secretFields.message),
            ("convertsToUTF8", convertsToUTF8.message))
        return message.dictionaryValue ?? [:]
    }

    /// Reads ``parameters``. Throws ``MessageError``.
    public init(_ map: MessageMap) throws {
        self.init(try map("method"), try map("address"), fields: try map("fields", default: UpstreamHeaders()))
        redirects = try map("redirects", default: .returned)
        isIdempotent = try map("isIdempotent", default: isIdempotent)
        deadline = try map.optional("deadline")
        answerLimit = try map.optional("answerLimit", as: Natural.self)?.number
        secretFields = try map("secretFields", default: [])
        convertsToUTF8 = try map("convertsToUTF8", default: false)
    }
}
