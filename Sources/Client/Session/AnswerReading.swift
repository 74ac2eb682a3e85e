import ValueTree
import WireFormats

extension TransportResponse {
    /// The body as a value, by the format that its media type names.
    ///
    /// - Throws: ``ClientError/unreadableAnswer(_:)``.
    public func value() throws(ClientError) -> WireValue {
        try read { format, body throws(WireFormatError) in try format.read(body) }
    }

    /// The same as a tape, of which values are made one by one.
    func tape() throws(ClientError) -> Tape {
        try read { format, body throws(WireFormatError) in try format.readTape(body, limits: ReadingLimits()) }
    }

    private func read<Result>(
        _ read: (any WireFormat, [UInt8]) throws(WireFormatError) -> Result
    ) throws(ClientError) -> Result {
        let type = header("content-type") ?? ""
        guard let format = Self.formats.first(where: { type.hasPrefix($0.type) })?.format else {
            throw .unreadableAnswer("an answer of type \"\(type)\"")
        }
        do {
            return try read(format, body)
        } catch {
            throw .unreadableAnswer(error.description)
        }
    }

    private static let formats: [(type: String, format: any WireFormat)] = [
        ("application/cbor", CBORFormat()), ("application/json", JSONFormat()),
    ]

    var isSuccess: Bool { (200..<300).contains(status) || status == 304 }

    /// What the gateway says about a call that it did not carry out; of somebody else's answer, its status.
    var refusal: Refusal {
        let error = try? value()["error"]
        return Refusal(
            status: status, code: error?["code"]?.stringValue ?? "",
            message: error?["message"]?.stringValue ?? "The server answered \(status).",
            requestID: error?["requestId"]?.stringValue,
            retryAfter: header("retry-after").flatMap { Int64($0) }.map { .seconds($0) })
    }
}
