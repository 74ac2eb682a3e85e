import AdapterKit
import ODataModel
import ODataRecords

/// Entities in version 2's JSON. Throws `request.invalid` with the property at fault as the target.
struct Version2JSONReader: Sendable {
    /// How deep entities and values may be nested in each other.
    static let maximumDepth = 32

    let model: EntityDataModel
    private var form: Version2Form { Version2Form(model: model) }

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
        guard !json.isNull else { return .null }
        switch model.version2Shape(of: type) {
        case .simple:
            guard let value = form.value(json: json, type) else {
                throw PorticoError(.requestInvalid, "\(path) is of type \(type).", target: path)
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
