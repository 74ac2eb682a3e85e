import ValueTree

/// An entity or a complex value in a server's JSON, of whichever version.
public struct ODataRow: Sendable {
    let members: WireDictionary
    let version: ODataVersion

    init(_ json: WireValue, _ version: ODataVersion) throws(ClientError) {
        guard case .dictionary(let members) = json else { throw .unreadableAnswer("an entity that is no object") }
        (self.members, self.version) = (members, version)
    }

    /// Nil where it is null or was not asked for.
    public func value<Value: ODataPrimitive>(_ name: String, as type: Value.Type = Value.self) throws -> Value? {
        try members[name].flatMap { try Self.value($0, name) }
    }

    /// The member's values. Throws where one is of another type.
    public func values<Value: ODataPrimitive>(_ name: String, as type: Value.Type = Value.self) throws -> [Value]? {
        try list(name)?.compactMap { try Self.value($0, name) }
    }

    /// The member's structure. Throws where it is of another shape.
    public func structure<Target: ODataStructure>(_ name: String, as type: Target.Type = Target.self) throws -> Target?
    {
        guard let json = members[name], isThere(json) else { return nil }
        return try Target(ODataRow(json, version))
    }

    /// The member's structures. Throws where one is of another shape.
    public func structures<Target: ODataStructure>(
        _ name: String, as type: Target.Type = Target.self
    ) throws -> [Target]? {
        try list(name)?.map { try Target(ODataRow($0, version)) }
    }

    /// The service's statements about the entity itself.
    public var control: ODataControl {
        var control = ODataControl()
        if version == .v2 {
            control.etag = members["__metadata"]?["etag"]?.stringValue
            control.type = members["__metadata"]?["type"]?.stringValue
            return control
        }
        for entry in members.entries where entry.key.contains("@") { control.take(entry.key, entry.value) }
        return control
    }

    private func list(_ name: String) throws -> [WireValue]? {
        guard let json = members[name], isThere(json) else { return nil }
        // Version 2 may wrap a list with what else is known of it.
        guard let items = json.arrayValue ?? json["results"]?.arrayValue else {
            throw ClientError.unreadableAnswer("\(name) is no list")
        }
        return items
    }

    private func isThere(_ json: WireValue) -> Bool { !json.isNull && json["__deferred"] == nil }

    private static func value<Value: ODataPrimitive>(_ json: WireValue, _ name: String) throws -> Value? {
        guard !json.isNull else { return nil }
        guard let value = Value(odata: json) else { throw ClientError.unreadableAnswer("\(name) is no \(Value.self)") }
        return value
    }
}

extension ODataControl {
    /// `@odata.etag`, or 4.01's `@etag`; before the mark the property that it is about.
    fileprivate mutating func take(_ key: String, _ value: WireValue) {
        let parts = key.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false)
        let (property, name) = (String(parts[0]), parts[1].hasPrefix("odata.") ? parts[1].dropFirst(6) : parts[1])
        switch (name, property.isEmpty) {
        case ("etag", true): etag = value.stringValue
        case ("type", true): type = value.stringValue.map { String($0.drop { $0 == "#" }) }
        case ("count", false): counts[property] = value.numberText.flatMap { Int64($0) }
        case ("nextLink", false): nextLinks[property] = value.stringValue
        default: break
        }
    }
}

/// A server's JSON of an entity or a complex value that is being written.
public struct ODataRowWriter {
    let version: ODataVersion
    /// Null where the property is not set.
    private(set) var properties = WireDictionary()
    /// Related entities that are set, to be created with it.
    private(set) var links = WireDictionary()
    private(set) var literals: [String: ODataLiteral] = [:]

    init(version: ODataVersion) {
        self.version = version
    }

    /// Writes a member; nil: null.
    public mutating func set(_ name: String, _ value: (some ODataPrimitive)?) {
        properties[name] = value?.json(version) ?? .null
        literals[name] = value?.literal
    }

    /// Writes a member; nil: null.
    public mutating func set(_ name: String, _ values: [some ODataPrimitive]?) {
        properties[name] = values.map { .array($0.map { $0.json(version) }) } ?? .null
    }

    /// Writes a member; nil: null.
    public mutating func set(_ name: String, _ value: (some ODataStructure)?) {
        properties[name] = value.map(json) ?? .null
    }

    /// Writes a member; nil: null.
    public mutating func set(_ name: String, _ values: [some ODataStructure]?) {
        properties[name] = values.map { .array($0.map(json)) } ?? .null
    }

    /// Writes a navigation property with new entities; nil: nothing.
    public mutating func link(_ name: String, _ entity: (some ODataEntity)?) {
        if let entity { links[name] = json(entity) }
    }

    /// Writes a navigation property with new entities; nil: nothing.
    public mutating func link(_ name: String, _ entities: [some ODataEntity]?) {
        if let entities { links[name] = .array(entities.map(json)) }
    }

    private func json(_ structure: some ODataStructure) -> WireValue {
        .dictionary(Self.all(of: structure, version))
    }

    /// Everything that is set, related entities included.
    static func all(of structure: some ODataStructure, _ version: ODataVersion) -> WireDictionary {
        var row = ODataRowWriter(version: version)
        structure.write(to: &row)
        let set = row.properties.entries.filter { !$0.value.isNull } + row.links.entries
        return WireDictionary(uncheckedUniqueKeys: set)
    }

    /// The properties that another state of an entity has otherwise.
    static func changes<Entity: ODataEntity>(
        from old: Entity, to new: Entity, _ version: ODataVersion
    ) -> WireDictionary {
        var (before, after) = (ODataRowWriter(version: version), ODataRowWriter(version: version))
        old.write(to: &before)
        new.write(to: &after)
        return WireDictionary(
            uncheckedUniqueKeys: after.properties.entries.filter { before.properties[$0.key] != $0.value })
    }
}
