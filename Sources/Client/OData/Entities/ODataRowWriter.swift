import ValueTree

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

    public mutating func set(_ name: String, _ value: (some ODataPrimitive)?) {
        properties[name] = value?.json(version) ?? .null
        literals[name] = value?.literal
    }

    public mutating func set(_ name: String, _ values: [some ODataPrimitive]?) {
        properties[name] = values.map { .array($0.map { $0.json(version) }) } ?? .null
    }

    public mutating func set(_ name: String, _ value: (some ODataStructure)?) {
        properties[name] = value.map(json) ?? .null
    }

    public mutating func set(_ name: String, _ values: [some ODataStructure]?) {
        properties[name] = values.map { .array($0.map(json)) } ?? .null
    }

    public mutating func link(_ name: String, _ entity: (some ODataEntity)?) {
        if let entity { links[name] = json(entity) }
    }

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
        let told = row.properties.entries.filter { !$0.value.isNull } + row.links.entries
        return WireDictionary(uncheckedUniqueKeys: told)
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
