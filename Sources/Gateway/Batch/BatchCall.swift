import AdapterKit
import HTTPTypes
import ValueTree
import WireFormats

/// One call of a batch, as a request of its own.
struct BatchCall: Sendable {
    let id: String
    let request: GatewayRequest
    /// Why the call is answered without being made: its path is not well-formed, or its head exceeds a limit.
    let refusal: PorticoError?

    /// Header fields of the batch that hold for its calls unless they say otherwise.
    private static let inherited: [HTTPField.Name] = [
        .authorization, .cookie, .xCSRFToken, .origin, .xRequestedWith, .secFetchSite,
    ]
    /// Fields that belong to the connection or the batch, not to a call. The last three say where a request comes from,
    /// which a browser says of the batch itself: in a body anybody can write them.
    private static let refused: Set<HTTPField.Name> = [
        .contentLength, .transferEncoding, .connection, .contentEncoding, .acceptEncoding, .expect, .origin,
        .xRequestedWith, .secFetchSite,
    ]

    /// Throws `request.invalid` naming what is not well-formed in a header field or the body. A path that is not
    /// well-formed, and a head that is too long, become the call's ``refusal``.
    init(_ call: WireValue, number: Int, in batch: GatewayRequest, _ services: GatewayServices) throws(PorticoError) {
        id = call["id"]?.stringValue ?? ""
        let place = "calls[\(number)]"
        let path = call["path"]?.stringValue ?? ""
        let isPathTooLong = path.utf8.count > services.limits.uri
        // The same rules as for the address of a request that comes alone.
        let target =
            isPathTooLong
            ? RequestTarget.path(of: path, atMost: services.limits.uri)
            : RequestHeadValidation.isPrintable(path) ? RequestTarget(path) : nil
        var headers = HTTPFields()
        var refusal: PorticoError? =
            if isPathTooLong { .addressTooLong } else if target == nil {
                PorticoError(.requestMalformed, "The path is not well-formed.", target: "\(place).path")
            } else { nil }
        if let own = try Self.headers(
            call["headers"]?.dictionaryValue ?? [:], within: services.limits.requestHead, place)
        {
            headers = own
        } else {
            refusal = refusal ?? .headTooLarge
        }
        for name in Self.inherited where !headers.contains(name) {
            // Without an index of the names, which reading by name would build.
            if let value = batch.headers.text(name) { headers.append(HTTPField(name: name, value: value)) }
        }
        if !headers.contains(.accept) {
            headers.append(HTTPField(name: .accept, value: MediaType.json.essence))
        }
        var bytes: [UInt8] = []
        if let value = call["body"], !value.isNull {
            let body = try BatchBody(value, contentType: headers.text(.contentType), place, services.catalogue)
            headers.put(.contentType, body.mediaType)
            bytes = body.bytes
        }
        self.refusal = refusal
        request = GatewayRequest(
            id: "\(batch.id).\(number)", method: .init(rawValue: call["method"]?.stringValue ?? "") ?? .get,
            target: target ?? .root, headers: headers, peer: batch.peer, origin: batch.origin, body: .bytes(bytes),
            deadline: batch.deadline, isPartOfBatch: true)
    }

    /// Nil where they exceed the limits.
    private static func headers(
        _ members: WireDictionary, within limits: HeaderLimits, _ place: String
    ) throws(PorticoError) -> HTTPFields? {
        var collected = HeaderFields(limits)
        var names: Set<HTTPField.Name> = []
        for member in members {
            do throws(HeaderFields.Failure) {
                guard let value = member.value.stringValue else { throw .invalid }
                try collected.append(member.key, value)
                // Cannot trap: collected before, within limits.
                guard let name = HTTPField.Name(member.key), !refused.contains(name), names.insert(name).inserted else {
                    throw .invalid
                }
            } catch {
                switch error {
                case .tooLarge: return nil
                case .invalid:
                    throw PorticoError(
                        .requestInvalid, "This header field cannot be part of a batch.",
                        target: "\(place).headers.\(member.key)")
                }
            }
        }
        return collected.fields
    }
}
