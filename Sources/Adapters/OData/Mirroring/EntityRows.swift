import AdapterKit
import ODataEngine
import ODataModel
import WireFormats

/// Entities of another system as rows of a set's records.
///
/// A value that is none of its property's type comes as a value that fits no such field, so that the mirror reports the field and
/// keeps what the record has; members that are no properties come under their names, and are reported as well.
struct EntityRows: Sendable {
    let table: RecordTable
    let model: EntityDataModel
    /// Of the other system.
    let version: ServableModel.Version

    private var stored: StoredValueCodec { StoredValueCodec(model: model) }

    /// Of JSON. Nil for what is no entity.
    func row(_ json: WireValue) -> WireDictionary? {
        guard let members = json.dictionaryValue else { return nil }
        return version == .version4 ? version4(members) : version2(members)
    }

    /// Of an Atom entry. Throws where it cannot be read.
    func row(_ entry: XMLElement) throws(PorticoError) -> WireDictionary? {
        let entity = try AtomReader(model: model).entity(entry, of: table.type)
        return entity.version4(table.type, model).dictionaryValue.map(version4)
    }

    /// The id of a row's record; nil: it has no readable key.
    func id(of row: WireDictionary) -> RecordID? { table.recordID(fields: row, form: stored) }

    private func version4(_ members: WireDictionary) -> WireDictionary {
        let values = AnsweredValues(model: model, version: version)
        let named = (members["@odata.type"] ?? members["@type"])?.stringValue
        return row(members, named: named, values.version4)
    }

    private func version2(_ members: WireDictionary) -> WireDictionary {
        let values = AnsweredValues(model: model, version: version)
        return row(members, named: members["__metadata"]?["type"]?.stringValue, values.version2)
    }

    private func row(
        _ members: WireDictionary, named typeName: String?,
        _ value: (String, WireValue, TypeReference) throws -> WireValue?
    ) -> WireDictionary {
        let name = typeName.flatMap { QualifiedName($0.drop { $0 == "#" }) }.map(model.resolve)
        let type = name.flatMap { table.family.contains($0) ? model.structured($0) : nil } ?? table.type
        var row = WireDictionary()
        var dynamic = WireDictionary()
        for member in members where !member.key.contains("@") && !member.key.hasPrefix("__") {
            if let column = table.columns[member.key] {
                row[column.field.text] =
                    member.value.isNull ? .null : Self.read(column.type) { try value(member.key, member.value, $0) }
            } else if type.isOpen, type.navigation(member.key) == nil {
                dynamic[member.key] = member.value
            } else if !isKnown(member.key) {
                row[member.key] = .null
            }
        }
        if let discriminator = table.discriminator { row[discriminator.text] = .string(type.name.description) }
        if let field = table.dynamicField, !dynamic.isEmpty { row[field.text] = .dictionary(dynamic) }
        if table.columns.values.allSatisfy({ $0.field != table.keyField }), let id = id(of: row) {
            row[table.keyField.text] = .string(id.text)
        }
        return row
    }

    /// Navigation properties and streams are no fields, and nothing new.
    private func isKnown(_ name: String) -> Bool {
        table.streams[name] != nil
            || table.family.contains { model.structured($0)?.navigation(name) != nil }
    }

    /// The value, or what the field of such a property never takes, with the reason; of a complex one, whose field takes
    /// everything, nothing.
    private static func read(_ type: TypeReference, _ value: (TypeReference) throws -> WireValue?) -> WireValue {
        var reason = "It is no value of its type."
        do { if let value = try value(type) { return value } } catch {
            if let message = (error as? PorticoError)?.message { reason = message }
        }
        if !type.isCollection, type.type.isStructured { return .null }
        return MirrorPage.unreadable(because: reason)
    }
}

/// Values of another system's JSON in stored form. Nil, or throws, for what is none of the type's.
struct AnsweredValues: Sendable {
    let model: EntityDataModel
    let version: ServableModel.Version

    func value(_ name: String, _ json: WireValue, _ type: TypeReference) throws -> WireValue? {
        version == .version4 ? try version4(name, json, type) : try version2(name, json, type)
    }

    func version4(_ name: String, _ json: WireValue, _ type: TypeReference) throws -> WireValue? {
        try ValueReader(model: model).value(json, type, at: name)
    }

    func version2(_ name: String, _ json: WireValue, _ type: TypeReference) throws -> WireValue? {
        if case .simple = model.version2Shape(of: type) {
            return Version2ValueCodec(model: model).value(json: json, type)
        }
        let nested = try Version2JSONReader(model: model).value(json, type, path: name)
        return try ValueReader(model: model).value(nested, type, at: name)
    }
}

/// One answer to a request for entities.
struct EntityFeed: Sendable {
    var entities: [WireValue] = []
    /// Addresses of entities that are gone; of changes alone.
    var removed: [String] = []
    /// As the answer has them.
    var next: String?
    var delta: String?
    var count: Int64?
    /// The address, perhaps relative, that links are relative to.
    var context: String?

    /// Of JSON. Throws ``MirrorRefusal`` for another document.
    init(_ json: WireValue, _ version: ServableModel.Version, isSingle: Bool = false) throws(MirrorRefusal) {
        guard let root = json.dictionaryValue else { throw MirrorRefusal(.unexpected, "the answer is no object") }
        if version == .version4 {
            context = Self.context(of: json)
            guard !isSingle else {
                entities = [json]
                return
            }
            guard let items = root["value"]?.arrayValue else {
                throw MirrorRefusal(.unexpected, "the answer has no list `value`")
            }
            for item in items { add(item) }
            next = try Self.link(root["@odata.nextLink"] ?? root["@nextLink"])
            delta = try Self.link(root["@odata.deltaLink"] ?? root["@deltaLink"])
            count = Self.number(root["@odata.count"] ?? root["@count"])
            return
        }
        guard let content = root["d"] else { throw MirrorRefusal(.unexpected, "the answer has no member `d`") }
        // Services of the first version have the list itself.
        guard let items = content.arrayValue ?? content["results"]?.arrayValue else {
            throw MirrorRefusal(.unexpected, "the answer has no list `results`")
        }
        entities = items
        next = try Self.link(content["__next"])
        delta = try Self.link(content["__delta"])
        count = Self.number(content["__count"])
    }

    /// A text, or in version 2 an object with it ([MS-ODATA], section 2.2.6.3.2). Nil: there is none. Throws ``MirrorRefusal`` for a
    /// link that is no address: without it rows would be missing.
    @inline(never) static func link(_ json: WireValue?) throws(MirrorRefusal) -> String? {
        guard let json, !json.isNull else { return nil }
        guard let text = json.stringValue ?? json["uri"]?.stringValue else {
            throw MirrorRefusal(.unexpected, "a link of the answer is no address")
        }
        return text
    }

    /// 64-bit numbers are texts where the service answers so (`IEEE754Compatible`).
    private static func number(_ json: WireValue?) -> Int64? {
        json.flatMap { $0.int64Value ?? $0.stringValue.flatMap { Int64($0) } }
    }

    static func context(of json: WireValue) -> String? {
        (json["@odata.context"] ?? json["@context"])?.stringValue
    }

    /// A change in version 4: an entity, one that is gone, or a link, which its own set tells as well.
    private mutating func add(_ item: WireValue) {
        let context = Self.context(of: item) ?? ""
        if context.hasSuffix("$link") || context.hasSuffix("$deletedLink") { return }
        guard context.hasSuffix("$deletedEntity") || item["@odata.removed"] != nil || item["@removed"] != nil else {
            return entities.append(item)
        }
        // Without an address it cannot be found, and the removal of an empty one ends the increments.
        removed.append((item["id"] ?? item["@odata.id"] ?? item["@id"])?.stringValue ?? "")
    }
}

/// A feed of Atom with changes, as version 2's services alone tell what is gone.
struct AtomChanges {
    let entries: [XMLElement]
    /// Addresses of entities.
    let removed: [String]
    let next: String?
    let delta: String?

    /// Throws ``MirrorRefusal`` for another document.
    init(_ body: [UInt8]) throws(MirrorRefusal) {
        let root: XMLElement
        do { root = try XMLElement(xml: body) } catch { throw MirrorRefusal(.malformed, "the answer is no XML") }
        guard root.is("feed", in: AtomName.atom) else { throw MirrorRefusal(.unexpected, "the answer is no feed") }
        entries = root.all("entry", in: AtomName.atom)
        removed = root.all("deleted-entry", in: AtomName.tombstones).map { $0.attribute("ref") ?? "" }
        let links = root.all("link", in: AtomName.atom)
        next = links.first { $0.attribute("rel") == "next" }?.attribute("href")
        delta = links.first { $0.attribute("rel") == "delta" }?.attribute("href")
    }
}
