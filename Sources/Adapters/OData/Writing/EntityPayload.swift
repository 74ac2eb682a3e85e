import AdapterKit
import ODataEngine
import ODataLanguage
import ODataModel

/// An entity in a request's body, parsed by the model.
struct EntityPayload: Sendable {
    let type: StructuredType
    /// By property, in stored form: what was sent.
    var values: [String: WireValue]
    var dynamic: WireDictionary
    /// By navigation property: the addresses of entities to be linked.
    var bound: [String: [String]]
    /// By navigation property: entities to be created with it. Nil is a null.
    var nested: [String: [WireValue]]
    /// Navigation properties that are to lead nowhere.
    var cleared: Set<String>
    /// By navigation property: its whole value as sent. In a change, a list is the whole list.
    private(set) var listed: [String: [WireValue]] = [:]
    /// By navigation property: what is to be changed of its list.
    private(set) var deltas: [String: [WireValue]] = [:]

    /// Throws `request.invalid` with the property at fault as the target.
    init(_ json: WireValue, of table: RecordTable, declared: StructuredType, model: EntityDataModel)
        throws(PorticoError)
    {
        guard case .dictionary(let members) = json else {
            throw PorticoError(.requestInvalid, "The body is an entity: an object in JSON.")
        }
        type = try Self.type(members, declared, model)
        (values, dynamic, bound, nested, cleared) = ([:], [:], [:], [:], [])
        let reader = ValueReader(model: model)
        for member in members {
            if let at = member.key.firstIndex(of: "@") {
                try control(String(member.key[..<at]), String(member.key[member.key.index(after: at)...]), member.value)
            } else if let property = type.property(member.key) {
                guard property.type.type != .primitive(.stream) else { continue }
                // Of what the service computes, every value is ignored; a null is one that its type may not have.
                if member.value.isNull, property.annotations.isTagged(CoreTerm.computed) { continue }
                values[property.name] = try reader.value(member.value, property.type, at: property.name)
            } else if let navigation = type.navigation(member.key) {
                try navigate(navigation, member.value)
            } else if type.isOpen {
                dynamic[member.key] = member.value
            } else {
                throw PorticoError(.requestInvalid, "\(type.name) has no property \(member.key).", target: member.key)
            }
        }
    }

    private mutating func control(_ target: String, _ name: String, _ value: WireValue) throws(PorticoError) {
        guard ["odata.bind", "bind", "odata.delta", "delta"].contains(name), !target.isEmpty else { return }
        guard type.navigation(target) != nil else {
            throw PorticoError(.requestInvalid, "\(type.name) has no navigation property \(target).", target: target)
        }
        if name.hasSuffix("delta") {
            guard type.navigation(target)?.isCollection == true, let items = value.arrayValue else {
                throw PorticoError(.requestInvalid, "Changes of a list are a list.", target: target)
            }
            deltas[target] = items
            return
        }
        let addresses = (value.arrayValue ?? [value]).compactMap(\.stringValue)
        guard !addresses.isEmpty || value.arrayValue?.isEmpty == true else {
            throw PorticoError(.requestInvalid, "A binding names entities by their addresses.", target: target)
        }
        bound[target, default: []] += addresses
    }

    /// An entity, a reference to one (`@id`), several of them, or null.
    private mutating func navigate(_ navigation: NavigationProperty, _ value: WireValue) throws(PorticoError) {
        if value.isNull, !navigation.isCollection {
            cleared.insert(navigation.name)
            return
        }
        guard (value.arrayValue != nil) == navigation.isCollection else {
            throw PorticoError(
                .requestInvalid, "\(navigation.name) is \(navigation.isCollection ? "a list" : "one entity").",
                target: navigation.name)
        }
        listed[navigation.name] = value.arrayValue ?? [value]
        for item in value.arrayValue ?? [value] {
            guard let members = item.dictionaryValue else {
                throw PorticoError(.requestInvalid, "\(navigation.name) holds entities.", target: navigation.name)
            }
            if let id = (members["@odata.id"] ?? members["@id"])?.stringValue {
                bound[navigation.name, default: []].append(id)
            } else {
                nested[navigation.name, default: []].append(item)
            }
        }
    }

    private static func type(
        _ members: WireDictionary, _ declared: StructuredType, _ model: EntityDataModel
    ) throws(PorticoError) -> StructuredType {
        guard let text = (members["@odata.type"] ?? members["@type"])?.stringValue else { return declared }
        let bare = text.split(separator: "#").last.map(String.init) ?? text
        guard let name = QualifiedName(bare).map(model.resolve), let type = model.structured(name),
            model.type(name, isA: declared.name)
        else {
            throw PorticoError(.requestInvalid, "\(bare) is no type of these entities.", target: "@odata.type")
        }
        return type
    }
}

/// Checks the names of control information in bodies of OData 4.0: `@odata.type`, not `@type` (JSON Format 4.01,
/// section 4.5).
enum ControlNames {
    /// Throws `request.invalid` for a name that means nothing in 4.0, at any depth; annotations have a dot in theirs.
    static func check(_ body: WireValue) throws(PorticoError) {
        for item in body.arrayValue ?? [] { try check(item) }
        for member in body.dictionaryValue ?? [:] {
            if let at = member.key.firstIndex(of: "@"), !member.key[at...].contains(".") {
                throw PorticoError(
                    .requestInvalid, "In OData 4.0 control information begins with @odata.", target: member.key)
            }
            try check(member.value)
        }
    }
}

/// The `$expand` option of the response to a deep insert: at least the levels that the request contained (Protocol
/// 4.01, section 11.4.2.2).
struct NestedNames {
    private let text: String

    init(_ payload: EntityPayload, model: EntityDataModel) {
        text = Self.text(payload.nested, payload.type, model)
    }

    /// Nil where nothing is nested.
    var option: QueryOption? {
        text.isEmpty
            ? nil : (try? TargetReader.target("Entities?$expand=\(text)", limits: LanguageLimits()))?.options.first
    }

    private static func text(
        _ nested: [String: [WireValue]], _ type: StructuredType, _ model: EntityDataModel
    ) -> String {
        nested.keys.sorted().map { name in
            guard let target = type.navigation(name).flatMap({ model.structured($0.target) }) else { return name }
            let inner = text(members(of: nested[name] ?? [], target), target, model)
            return inner.isEmpty ? name : "\(name)($expand=\(inner))"
        }.joined(separator: ",")
    }

    private static func members(of items: [WireValue], _ type: StructuredType) -> [String: [WireValue]] {
        var members: [String: [WireValue]] = [:]
        for item in items {
            for member in item.dictionaryValue ?? [:] where type.navigation(member.key) != nil && !member.value.isNull {
                members[member.key, default: []] += member.value.arrayValue ?? [member.value]
            }
        }
        return members
    }
}
