import AdapterKit
import HTTPTypes
import ValueTree
import WireFormats

/// One call of a batch, as a request of its own. Its body is a value of the batch's document and travels as CBOR, which
/// carries every type of the value tree.
struct BatchCall: Sendable {
    let id: String
    let request: GatewayRequest

    /// Header fields of the batch that hold for its calls unless they say otherwise.
    private static let inherited: [HTTPField.Name] = [
        .authorization, .cookie, .xCSRFToken, .origin, .xRequestedWith, .secFetchSite,
    ]
    /// Fields that belong to the connection or the batch, not to a call. The last three say where a request comes from,
    /// which a browser says of the batch itself: in a body anybody can write them.
    private static let refused: Set<HTTPField.Name> = [
        .contentLength, .contentType, .transferEncoding, .connection, .contentEncoding, .acceptEncoding, .expect,
        .accept, .origin, .xRequestedWith, .secFetchSite,
    ]

    init(_ call: WireValue, number: Int, in batch: GatewayRequest) throws {
        id = call["id"]?.stringValue ?? ""
        guard let target = RequestTarget(call["path"]?.stringValue ?? "") else {
            throw PorticoError(.requestInvalid, "The path is not well-formed.", target: "calls[\(number)].path")
        }
        var headers = try Self.headers(call["headers"]?.dictionaryValue ?? [:], number: number)
        for name in Self.inherited where headers[name] == nil { headers[name] = batch.headers[name] }
        headers[.accept] = CBORFormat().mediaTypeWritten.description
        var body: [UInt8] = []
        if let value = call["body"], !value.isNull {
            headers[.contentType] = CBORFormat().mediaTypeWritten.description
            body = try CBORFormat().write(value)
        }
        request = GatewayRequest(
            id: "\(batch.id).\(number)", method: .init(rawValue: call["method"]?.stringValue ?? "") ?? .get,
            target: target, headers: headers, peer: batch.peer, origin: batch.origin, body: .bytes(body),
            deadline: batch.deadline,
            isPartOfBatch: true)
    }

    /// `{"id", "status", "headers", "body"}`. A body that is no value, such as a schema, is its text or its bytes.
    func answer(_ response: GatewayResponse) -> WireValue {
        var headers = WireDictionary()
        for field in response.headers { headers[field.name.canonicalName] = .string(field.value) }
        return [
            "id": .string(id), "status": .int64(Int64(response.status.code)), "headers": .dictionary(headers),
            "body": Self.body(of: response),
        ]
    }

    private static func body(of response: GatewayResponse) -> WireValue {
        guard !response.body.isEmpty else { return .null }
        if let type = response.headers[.contentType].flatMap(MediaType.init),
            type.hasSameEssence(as: CBORFormat().mediaTypeWritten),
            let value = try? CBORFormat().read(response.body)
        {
            return value
        }
        return String(validating: response.body, as: UTF8.self).map(WireValue.string) ?? .data(response.body)
    }

    private static func headers(_ members: WireDictionary, number: Int) throws(PorticoError) -> HTTPFields {
        var headers = HTTPFields()
        for member in members {
            guard let name = HTTPField.Name(member.key), let value = member.value.stringValue,
                HTTPField.isValidValue(value), !refused.contains(name)
            else {
                throw PorticoError(
                    .requestInvalid, "This header field cannot be part of a batch.",
                    target: "calls[\(number)].headers.\(member.key)")
            }
            headers[name] = value
        }
        return headers
    }
}
