import AdapterKit
import ODataModel
import ODataRecords

/// Entries of requests. Throws `request.invalid` with the property at fault as the target.
struct AtomReader {
    let model: EntityDataModel
    private var form: Version2Form { Version2Form(model: model) }

    func entity(_ entry: XMLElement, of declared: StructuredType) throws(PorticoError) -> WrittenEntity {
        var entity = WrittenEntity()
        entity.typeName = entry.all("category", in: AtomName.atom)
            .first { $0.attribute("scheme") == AtomName.scheme }?.attribute("term")
        let named = entity.typeName.flatMap { QualifiedName($0) }.map(model.resolve)
        let type = named.flatMap { model.structured($0) } ?? declared
        for property in Self.properties(of: entry) where property.namespace == Version2Namespace.data {
            entity.properties[property.name] = try value(property, type)
        }
        for link in entry.all("link", in: AtomName.atom) { try read(link, type, into: &entity) }
        return entity
    }

    /// Inside of `content`, or beside it where the content is a stream.
    private static func properties(of entry: XMLElement) -> [XMLElement] {
        let content = entry.first("content", in: AtomName.atom)
        let found =
            content?.first("properties", in: Version2Namespace.metadata)
            ?? entry.first("properties", in: Version2Namespace.metadata)
        return found?.children ?? []
    }

    /// What the type does not know is left to those who say so.
    private func value(_ element: XMLElement, _ type: StructuredType) throws(PorticoError) -> WireValue {
        guard let property = type.property(element.name) else {
            return Self.isNull(element) ? .null : .string(element.text)
        }
        return try value(element, property.type, at: property.name)
    }

    /// In the terms of version 4's JSON.
    func value(_ element: XMLElement, _ type: TypeReference, at path: String) throws(PorticoError) -> WireValue {
        if Self.isNull(element) { return .null }
        switch model.version2Shape(of: type) {
        case .simple:
            guard let value = form.value(text: element.text, type) else { throw Self.wrong(type, path, model) }
            return form.version4(value, type)
        case .complex(let name): return try complex(element, name, at: path)
        case .document: return try form.value(document: element.text, at: path)
        }
    }

    private func complex(
        _ element: XMLElement, _ name: QualifiedName, at path: String
    ) throws(PorticoError) -> WireValue {
        var members = WireDictionary()
        let sent = element.attribute("type", in: Version2Namespace.metadata).flatMap { QualifiedName($0) }
        let actual = sent.map(model.resolve) ?? name
        if actual != name { members["@odata.type"] = .string("#\(actual)") }
        for child in element.children where child.namespace == Version2Namespace.data {
            let property = model.structured(actual)?.property(child.name)
            members[child.name] =
                try property.map { property throws(PorticoError) in
                    try value(child, property.type, at: "\(path)/\(child.name)")
                } ?? .string(child.text)
        }
        return .dictionary(members)
    }

    private static func isNull(_ element: XMLElement) -> Bool {
        element.attribute("null", in: Version2Namespace.metadata) == "true"
    }

    private static func wrong(_ type: TypeReference, _ path: String, _ model: EntityDataModel) -> PorticoError {
        PorticoError(
            .requestInvalid, "\(path) is of type \(model.version2Shape(of: type).typeName).", target: path)
    }

    /// Entities inside of a link are created with the entry; an entity's address is bound. The address of the navigation
    /// property itself, as answers have it, says nothing.
    private func read(_ link: XMLElement, _ type: StructuredType, into entity: inout WrittenEntity) throws(PorticoError)
    {
        guard let relation = link.attribute("rel"), relation.hasPrefix(AtomName.related) else { return }
        let name = String(relation.dropFirst(AtomName.related.count))
        if let inline = link.first("inline", in: Version2Namespace.metadata) {
            let target = type.navigation(name).flatMap { model.structured($0.target) } ?? type
            let entries =
                inline.all("entry", in: AtomName.atom)
                + inline.all("feed", in: AtomName.atom).flatMap { $0.all("entry", in: AtomName.atom) }
            for entry in entries { entity.nested[name, default: []].append(try self.entity(entry, of: target)) }
        } else if let address = link.attribute("href"), address.split(separator: "/").last.map(String.init) != name {
            entity.links[name, default: []].append(address)
        }
    }
}
