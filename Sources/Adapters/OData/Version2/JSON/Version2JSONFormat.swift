import AdapterKit
import ODataModel
import WireFormats

/// JSON as SAP's services have it ([MS-ODATA], section 2.2.6.3): everything within `d`, feeds within `results`, control
/// information in `__metadata`, 64-bit integers and decimals as texts, instants as `/Date(…)/`.
struct Version2JSONFormat: Version2Format {
    static let mediaType = "application/json;charset=utf-8"

    func isNamed(_ name: String) -> Bool { name == "json" }
    func takes(_ mediaType: String) -> Bool { mediaType == "application/json" || mediaType == "text/json" }

    func document(_ content: Version2Content, in scope: Version2Scope) -> Version2Document {
        Version2Document(
            mediaType: Self.mediaType, bytes: Version2JSONWriter(scope: scope).bytes(content))
    }

    var feedType: String { Self.mediaType }

    func rows(_ level: Version2Level, _ model: EntityDataModel) -> any Version2Rows {
        Version2JSONRows(level, model: model)
    }

    func document(_ failure: Version2Error) -> Version2Document {
        var output = JSONOutput()
        output.beginObject()
        Version2JSONError(failure).write(to: &output)
        output.endObject()
        return Version2Document(mediaType: Self.mediaType, bytes: output.bytes)
    }

    func entity(
        _ body: [UInt8], of type: StructuredType, in scope: Version2Scope
    ) throws(PorticoError) -> WrittenEntity {
        try Version2JSONReader(model: scope.model).entity(try content(body), of: type, path: "")
    }

    func property(
        _ body: [UInt8], _ name: String, _ type: TypeReference, in scope: Version2Scope
    ) throws(PorticoError) -> WireValue {
        let content = try content(body)
        // A complex property comes by itself or under its name.
        guard let value = content[name] ?? (type.type.isStructured ? content : nil) else {
            throw PorticoError(.requestInvalid, "The body has the member \(name).", target: name)
        }
        return try Version2JSONReader(model: scope.model).value(value, type, path: name)
    }

    func link(_ body: [UInt8]) throws(PorticoError) -> String {
        guard let address = try content(body)["uri"]?.stringValue else {
            throw PorticoError(.requestInvalid, "A link is an object with the member uri.", target: "uri")
        }
        return address
    }

    /// The body, without the `d` that some clients put around it.
    private func content(_ body: [UInt8]) throws(PorticoError) -> WireValue {
        let value: WireValue
        do {
            value = try JSONFormat().read(body, limits: ReadingLimits())
        } catch {
            throw PorticoError(.requestMalformed, error.description)
        }
        guard case .dictionary(let members) = value, members.keys.count == 1, let inner = members["d"] else {
            return value
        }
        return inner
    }
}
