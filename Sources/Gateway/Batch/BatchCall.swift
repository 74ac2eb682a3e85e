import AdapterKit
import HTTPServer
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
    /// which a browser says of the batch itself: in a body any page can write them.
    private static let refused: Set<HTTPField.Name> = [
        .contentLength, .transferEncoding, .connection, .contentEncoding, .acceptEncoding, .expect, .origin,
        .xRequestedWith, .secFetchSite,
    ]

    /// Throws `request.invalid` naming what is not well-formed in a header field or the body. A path that is not
    /// well-formed, and a head that is too long, become the call's ``refusal``.
    init(
        _ call: WireValue, number: Int, in batch: AuthenticatedRequest, _ services: GatewayServices
    ) throws(PorticoError) {
        let (batch, caller) = (batch.request, batch.caller)
        id = call["id"]?.stringValue ?? ""
        let location = "calls[\(number)]"
        let path = call["path"]?.stringValue ?? ""
        var (target, refusal) = Self.target(path, limit: services.limits.uri)
        var headers = HTTPFields()
        if let own = try Self.headers(
            call["headers"]?.dictionaryValue ?? [:], within: services.limits.requestHead, location)
        {
            headers = own
            for name in Self.inherited where !headers.contains(name) {
                // Without an index of the names, which reading by name would build.
                if let value = batch.headers.text(name) { headers.append(HTTPField(name: name, value: value)) }
            }
            if !headers.contains(.accept) {
                headers.append(HTTPField(name: .accept, value: MediaType.json.essence))
            }
        } else {
            // A connection reads nothing else of such a head either.
            (target, refusal) = (.root, .headTooLarge)
        }
        var bytes: [UInt8] = []
        if let value = call["body"], !value.isNull {
            let body = try BatchBody(value, contentType: headers.text(.contentType), location, services.catalogue)
            headers.put(.contentType, body.mediaType)
            bytes = body.bytes
        }
        self.refusal = refusal
        request = GatewayRequest(
            id: "\(batch.id).\(number)", method: .init(rawValue: call["method"]?.stringValue ?? "") ?? .get,
            target: target, headers: headers, peer: batch.peer, scheme: batch.scheme, authority: batch.authority,
            body: .bytes(bytes),
            deadline: batch.deadline, isPartOfBatch: true,
            countedAs: number == 0 ? RequestQuotas.key(caller, batch) : nil, place: batch.place)
    }

    /// By the same rules as the address of a request that comes alone.
    private static func target(_ path: String, limit: Int) -> (RequestTarget, PorticoError?) {
        guard path.isPrintableTarget else { return (.root, .malformed("The address is not well-formed.")) }
        guard path.utf8.count <= limit else { return (.path(of: path, atMost: limit), .addressTooLong) }
        guard let target = RequestTarget(path) else {
            return (.path(of: path, atMost: limit), .malformed("The address is not well-formed."))
        }
        return (target, nil)
    }

    /// Nil where they exceed the limits.
    private static func headers(
        _ members: WireDictionary, within limits: HeaderLimits, _ location: String
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
                        target: "\(location).headers.\(member.key)")
                }
            }
        }
        return collected.fields
    }
}

/// A call's body between the batch's document and the bytes that its endpoint reads or writes.
///
/// A body in a wire format is a value of the document. A text is a string of it. Anything else is data, which formats
/// without a type for bytes write as base64.
struct BatchBody {
    let mediaType: String
    let bytes: [UInt8]

    /// A call's body. `contentType`: as the call names it; without it, JSON, or CBOR where JSON would lose a type.
    /// Throws `request.invalid` where the value is no body of that type.
    init(
        _ value: WireValue, contentType: String?, _ location: String, _ catalogue: FormatCatalogue
    ) throws(PorticoError) {
        guard let contentType else {
            let format: any WireFormat = value.isPlainJSON ? JSONFormat() : CBORFormat()
            self.init(
                mediaType: format.mediaTypeWritten.description, bytes: try Self.write(value, format, location))
            return
        }
        guard let type = MediaType(contentType) else { throw Self.invalid(location) }
        if let format = catalogue.formats(reading: type).first, format.name != .xml || value.stringValue == nil {
            self.init(mediaType: contentType, bytes: try Self.write(value, format, location))
        } else if case .data(let bytes) = value {
            self.init(mediaType: contentType, bytes: bytes)
        } else if let text = value.stringValue, let bytes = type.isText ? Array(text.utf8) : Base64.decode(text) {
            self.init(mediaType: contentType, bytes: bytes)
        } else {
            throw Self.invalid(location)
        }
    }

    private init(mediaType: String, bytes: [UInt8]) {
        self.mediaType = mediaType
        self.bytes = bytes
    }

    private static func write(
        _ value: WireValue, _ format: any WireFormat, _ location: String
    ) throws(PorticoError) -> [UInt8] {
        do { return try format.write(value) } catch { throw invalid(location) }
    }

    private static func invalid(_ location: String) -> PorticoError {
        PorticoError(
            .requestInvalid, "The body cannot be carried as the call's media type.", target: "\(location).body")
    }

    /// An answer's body as a value. XML stays text: its documents say more than a value can.
    static func value(_ bytes: [UInt8], contentType: String?, _ services: GatewayServices) -> WireValue {
        guard let type = contentType.flatMap({ MediaType($0) }) else { return .data(bytes) }
        if let format = services.catalogue.format(reading: type, body: bytes), format.name != .xml {
            let limits = ReadingLimits(depth: services.limits.depth, values: services.limits.values)
            if let value = try? format.read(bytes, limits: limits) { return value }
        }
        guard type.isText, let text = String(validating: bytes, as: UTF8.self) else { return .data(bytes) }
        return .string(text)
    }
}

extension MediaType {
    /// Whether bodies of this type are text. Clients that read a batch's response apply the same rule.
    var isText: Bool {
        switch (type, subtype) {
        case ("text", _), ("multipart", _): true
        case ("application", "json"), ("application", "xml"), ("application", "javascript"),
            ("application", "x-www-form-urlencoded"):
            true
        default: structuredSuffix == "json" || structuredSuffix == "xml"
        }
    }
}

extension WireValue {
    /// Whether JSON has a type of its own for every value in it.
    fileprivate var isPlainJSON: Bool {
        switch self {
        case .data, .date, .uid: false
        case .double(let number): number.isFinite
        case .array(let items): items.allSatisfy(\.isPlainJSON)
        case .dictionary(let members): members.allSatisfy(\.value.isPlainJSON)
        default: true
        }
    }
}
