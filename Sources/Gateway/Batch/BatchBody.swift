import AdapterKit
import ValueTree
import WireFormats

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
        _ value: WireValue, contentType: String?, _ place: String, _ catalogue: FormatCatalogue
    ) throws(PorticoError) {
        guard let contentType else {
            let format: any WireFormat = value.isPlainJSON ? JSONFormat() : CBORFormat()
            self.init(
                mediaType: format.mediaTypeWritten.description, bytes: try Self.write(value, format, place))
            return
        }
        guard let type = MediaType(contentType) else { throw Self.invalid(place) }
        if let format = catalogue.formats(reading: type).first, format.name != .xml || value.stringValue == nil {
            self.init(mediaType: contentType, bytes: try Self.write(value, format, place))
        } else if case .data(let bytes) = value {
            self.init(mediaType: contentType, bytes: bytes)
        } else if let text = value.stringValue, let bytes = type.isText ? Array(text.utf8) : Base64.decode(text) {
            self.init(mediaType: contentType, bytes: bytes)
        } else {
            throw Self.invalid(place)
        }
    }

    private init(mediaType: String, bytes: [UInt8]) {
        self.mediaType = mediaType
        self.bytes = bytes
    }

    private static func write(
        _ value: WireValue, _ format: any WireFormat, _ place: String
    ) throws(PorticoError) -> [UInt8] {
        do { return try format.write(value) } catch { throw invalid(place) }
    }

    private static func invalid(_ place: String) -> PorticoError {
        PorticoError(.requestInvalid, "The body cannot be carried as the call's media type.", target: "\(place).body")
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
    /// Whether its bodies are text. Whoever reads a batch's answer decides by the same rule what a string is.
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
