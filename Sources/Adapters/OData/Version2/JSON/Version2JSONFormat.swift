import AdapterKit
import ODataEngine
import ODataModel
import WireFormats

/// JSON of version 2 ([MS-ODATA], section 2.2.6.3): everything within `d`, feeds within `results`, control information
/// in `__metadata`, 64-bit integers and decimals as texts, instants as `/Date(…)/`.
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

/// SAP's error document in JSON: `{"error":{"code","message":{"lang","value"},"innererror":{…}}}`, with the members of
/// `innererror` that SAP's clients read.
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

/// Reads entities in version 2's JSON. Throws `request.invalid` with the property at fault as the target.
struct Version2JSONReader: Sendable {
    /// How deep entities and values may be nested in each other.
    static let maximumDepth = 32

    let model: EntityDataModel
    private var form: Version2ValueCodec { Version2ValueCodec(model: model) }

    func entity(
        _ json: WireValue, of type: StructuredType, path: String, depth: Int = 0
    ) throws(PorticoError) -> WrittenEntity {
        guard depth < Self.maximumDepth else {
            throw PorticoError(.requestLimitExceeded, "Too many entities are nested in one request.")
        }
        guard case .dictionary(let members) = json else {
            throw PorticoError(.requestInvalid, "An entity is an object.", target: path.isEmpty ? nil : path)
        }
        var written = WrittenEntity(typeName: members["__metadata"]?["type"]?.stringValue)
        let actual = written.typeName.flatMap { QualifiedName($0) }.map(model.resolve).flatMap { model.structured($0) }
        let family = [actual ?? type] + model.family(of: type.name).compactMap { model.structured($0) }
        for member in members where member.key != "__metadata" {
            if let property = family.lazy.compactMap({ $0.property(member.key) }).first {
                written.properties[member.key] = try value(member.value, property.type, path: member.key)
            } else if let navigation = family.lazy.compactMap({ $0.navigation(member.key) }).first {
                try follow(navigation, member.value, depth, &written)
            } else {
                // Dynamic, or not there: the model says which.
                written.properties[member.key] = member.value
            }
        }
        return written
    }

    /// A link, entities, or neither: what a client sends back as it got it.
    private func follow(
        _ navigation: NavigationProperty, _ value: WireValue, _ depth: Int, _ written: inout WrittenEntity
    ) throws(PorticoError) {
        if value.isNull {
            if !navigation.isCollection { written.properties[navigation.name] = .null }
            return
        }
        guard value["__deferred"] == nil else { return }
        let items = value.arrayValue ?? value["results"]?.arrayValue ?? [value]
        guard navigation.isCollection || items.count == 1 else {
            throw PorticoError(.requestInvalid, "\(navigation.name) is one entity.", target: navigation.name)
        }
        for item in items {
            if let address = link(item) {
                written.links[navigation.name, default: []].append(address)
            } else if let target = model.structured(navigation.target) {
                written.nested[navigation.name, default: []].append(
                    try entity(item, of: target, path: navigation.name, depth: depth + 1))
            }
        }
    }

    /// An entity that is no more than its address.
    private func link(_ item: WireValue) -> String? {
        guard case .dictionary(let members) = item, members.keys.count == 1 else { return nil }
        return (members["__metadata"]?["uri"] ?? members["uri"])?.stringValue
    }

    /// In the terms of version 4's JSON.
    func value(
        _ json: WireValue, _ type: TypeReference, path: String, depth: Int = 0
    ) throws(PorticoError) -> WireValue {
        guard !json.isNull else { return type.isCollection ? [] : .null }
        switch model.version2Shape(of: type) {
        case .simple:
            guard let value = form.value(json: json, type) else {
                throw PorticoError.ofOtherVersion2Type(type, model, at: path)
            }
            return form.version4(value, type)
        case .complex(let name): return try complex(json, name, path, depth)
        case .document:
            return try json.stringValue.map { text throws(PorticoError) in
                try form.value(document: text, at: path)
            } ?? json["results"] ?? json
        }
    }

    private func complex(
        _ json: WireValue, _ name: QualifiedName, _ path: String, _ depth: Int
    ) throws(PorticoError) -> WireValue {
        guard case .dictionary(let members) = json, depth < Self.maximumDepth else {
            throw PorticoError(.requestInvalid, "\(path) is an object.", target: path)
        }
        let typeName = members["__metadata"]?["type"]?.stringValue
        let type = typeName.flatMap { QualifiedName($0) }.map(model.resolve) ?? name
        var values = WireDictionary()
        if let typeName { values["@odata.type"] = .string("#\(typeName)") }
        for member in members where member.key != "__metadata" {
            guard let property = model.structured(type)?.property(member.key) else {
                values[member.key] = member.value
                continue
            }
            values[member.key] = try value(
                member.value, property.type, path: "\(path)/\(member.key)", depth: depth + 1)
        }
        return .dictionary(values)
    }
}
