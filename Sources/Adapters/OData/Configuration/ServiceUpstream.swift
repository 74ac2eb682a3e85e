import AdapterKit
import ODataEngine
import ODataModel

/// The service of another system that has the truth of a service's entities: `services.{service}.upstream` and the keys beside
/// it.
struct ServiceUpstream: Sendable {
    let name: UpstreamName
    /// Where the service is, from the upstream's address; ends with a slash, or is empty.
    let path: String
    /// By the model.
    let version: ServableModel.Version
    /// What of the model cannot be served.
    let leftOut: [LeftOut]
    /// By set: the property that tells when an entity was changed.
    let changeProperties: [String: String]
    /// Sets whose entities are not kept: the system is asked for them with each request.
    let called: Set<String>
    /// Called sets whose entities callers change there.
    let written: Set<String>
    /// The times for which answers of called sets are used again; a set that is not named has none.
    let keeping: [String: CallThrough]
    /// The same of functions.
    let keepingOfFunctions: CallThrough?
    /// One for each set, and for each navigation property without a constraint.
    let mirrors: [MirrorSource]

    /// Sets whose entities no caller changes there.
    var unwritten: Set<EntityName> { Set(mirrors.filter { $0.writing == .none }.map(\.entity)) }

    /// Whether the links are kept: those of sets that are.
    func mirrors(_ link: LinkTable) -> Bool { !called.contains(link.source) && !called.contains(link.target) }

    /// The entities that have no records here.
    func withoutRecords(of tables: ServiceTables) -> Set<EntityName> {
        Set(called.compactMap { tables[$0]?.entity } + tables.links.filter { !mirrors($0) }.map(\.entity))
    }
}

extension ServiceUpstream {
    private static let ofMirrors = ["freshFor", "staleFor", "waitFor", "refresh"]
    private static let ofSets = ofMirrors + [writing]
    private static let writing = "write"
    private static let idempotencyKeys = "idempotencyKeys"

    /// The keys below `adapters.odata.services.{service}`.
    static let options: [ConfigurationOption] = {
        let known = Dictionary(MirrorSource.options.map { ($0.path, $0) }, uniquingKeysWith: { first, _ in first })
        func options(_ names: [String], below path: String) -> [ConfigurationOption] {
            names.compactMap { known[$0] }.map {
                ConfigurationOption(
                    "\(path).\($0.path)", $0.valueKind, changesRecords: $0.changesRecords, summary: $0.summary)
            }
        }
        return [
            ConfigurationOption(
                "services.*.upstream", .upstream, changesRecords: true,
                summary: "The system whose OData service has the entities. Without it they are local."),
            ConfigurationOption(
                "services.*.path", .string(maximumLength: UpstreamAddress.maximumLength / 2), changesRecords: true,
                summary: "Where that service is, from the upstream's address: `sap/opu/odata/sap/NAME/`."),
            ConfigurationOption(
                "services.*.mode", .choice(["mirror", "call"]), changesRecords: true,
                summary:
                    "How it is used: `mirror` fetches its entities and keeps them as records, `call` asks it with each request. `mirror` by default, `call` where it is called in its callers' names."
            ),
            ConfigurationOption(
                "services.*.sets.*.mode", .choice(["mirror", "call"]), changesRecords: true,
                summary: "The same of one set."),
            ConfigurationOption(
                "services.*.sets.*.enabled", .bool, changesRecords: true, summary: "Whether the set is served: true."),
            ConfigurationOption(
                "services.*.sets.*.changes", .string, changesRecords: true,
                summary: "The property that tells when an entity was changed, for a service without delta links."),
        ] + options(ofSets + [idempotencyKeys, "guard.share", "guard.from"], below: "services.*")
            + options(ofSets, below: "services.*.sets.*")
    }()

    /// The keys that mean something with an `upstream` alone, and those that mean nothing with it.
    private static let needing = ["path", "mode", "guard", idempotencyKeys] + ofSets
    private static let excluded = ["seed", "samples", "unique", "discriminators"]

    /// Sets that are not served by wish.
    static func disabled(_ values: WireDictionary) -> Set<String> {
        Set((values["sets"]?.dictionaryValue ?? [:]).filter { $0.value["enabled"]?.boolValue == false }.map(\.key))
    }

    /// Throws ``ConfigurationProblem`` for keys without an effect.
    static func check(_ service: String, _ values: WireDictionary) throws {
        if let upstream = values["upstream"]?.stringValue {
            for key in excluded where values[key] != nil {
                throw ConfigurationProblem(
                    "services.\(service).\(key)",
                    "This has no effect: the entities are those of the system \(upstream).")
            }
            return
        }
        for key in needing where values[key] != nil {
            throw ConfigurationProblem("services.\(service).\(key)", "This has no effect: `upstream` names no system.")
        }
        for set in values["sets"]?.dictionaryValue ?? [:] {
            for key in ["mode", "enabled", "changes"] + ofSets where set.value[key] != nil {
                throw ConfigurationProblem(
                    "services.\(service).sets.\(set.key).\(key)", "This has no effect: `upstream` names no system.")
            }
        }
    }

    /// `ofCallers`: upstreams that are called in their callers' names. Throws ``ConfigurationProblem``.
    init(
        _ service: String, _ values: WireDictionary, _ servable: ServableTables, ofCallers: Set<UpstreamName>
    ) throws {
        let tables = servable.tables
        let place = "services.\(service)"
        guard let text = values["upstream"]?.stringValue, let name = UpstreamName(text) else {
            throw ConfigurationProblem("\(place).upstream", "This cannot be the name of an upstream.")
        }
        let sets = values["sets"]?.dictionaryValue ?? [:]
        for set in Self.disabled(values).subtracting(servable.named).sorted() {
            throw ConfigurationProblem(
                "\(place).sets.\(set).enabled",
                "The model has no set \(set): it has \(servable.named.joined(separator: ", ")).")
        }
        let called = try Self.called(values, sets, tables, place, inCallersNames: ofCallers.contains(name))
        self.called = called
        written = try Self.written(values, sets, called, place)
        keeping = try called.reduce(into: [:]) { all, source in
            all[source] = try Self.keeping(sets[source]?.dictionaryValue ?? [:], values, name, place, source)
        }
        keepingOfFunctions = try Self.keeping([:], values, name, place, nil)
        self.name = name
        version = servable.version
        leftOut = servable.leftOut
        self.path = try Self.path(values["path"]?.stringValue ?? "", place)
        changeProperties = try Self.changeProperties(sets, tables, place)
        mirrors = try Self.mirrors(values, sets, tables, place, without: called)
    }

    /// The sets that are called. Throws for what has no effect on them, and for mirrors of what is asked in callers' names.
    private static func called(
        _ values: WireDictionary, _ sets: WireDictionary, _ tables: ServiceTables, _ place: String, inCallersNames: Bool
    ) throws -> Set<String> {
        let standard = values["mode"]?.stringValue ?? (inCallersNames ? "call" : "mirror")
        var called: Set<String> = []
        for source in tables.sources {
            let set = sets[source]?.dictionaryValue ?? [:]
            guard (set["mode"]?.stringValue ?? standard) == "call" else {
                guard !inCallersNames else {
                    throw ConfigurationProblem(
                        set["mode"] == nil ? "\(place).mode" : "\(place).sets.\(source).mode",
                        "The upstream is called in its callers' names, and a mirror is fetched without a caller.")
                }
                continue
            }
            called.insert(source)
            for key in ["refresh", "changes"] where set[key] != nil {
                throw ConfigurationProblem(
                    "\(place).sets.\(source).\(key)", "This has no effect: the set is called, not mirrored.")
            }
        }
        if called.count == tables.sources.count {
            for key in ["refresh", idempotencyKeys, "guard", "indexes", "search"] where values[key] != nil {
                throw ConfigurationProblem(
                    "\(place).\(key)", "This has no effect: every set is called, and none is mirrored.")
            }
        }
        return called
    }

    /// Nil where nothing says that answers are kept: neither `freshFor` nor `staleFor`. The one that is not given means nothing more.
    private static func keeping(
        _ set: WireDictionary, _ values: WireDictionary, _ upstream: UpstreamName, _ place: String, _ source: String?
    ) throws -> CallThrough? {
        func seconds(_ key: String) -> Duration? {
            (set[key] ?? values[key])?.doubleValue.map { .seconds($0) }
        }
        let (fresh, stale) = (seconds("freshFor"), seconds("staleFor"))
        guard fresh != nil || stale != nil else { return nil }
        var keeping = CallThrough(to: upstream)
        keeping.freshFor = fresh ?? .zero
        keeping.staleFor = stale ?? keeping.freshFor
        keeping.waitFor = seconds("waitFor") ?? keeping.waitFor
        guard keeping.freshFor <= keeping.staleFor else {
            let key = set["staleFor"] == nil && set["freshFor"] == nil ? place : "\(place).sets.\(source ?? "")"
            throw ConfigurationProblem(
                "\(key).staleFor", "What is fresh cannot be too old: `freshFor` is longer.")
        }
        return keeping
    }

    /// Changes of a called set are made while the caller waits.
    private static func written(
        _ values: WireDictionary, _ sets: WireDictionary, _ called: Set<String>, _ place: String
    ) throws -> Set<String> {
        try called.filter { source in
            let own = sets[source]?[writing]?.stringValue
            let value = own ?? values[writing]?.stringValue
            guard value != "queued" else {
                throw ConfigurationProblem(
                    own == nil ? "\(place).\(writing)" : "\(place).sets.\(source).\(writing)",
                    "Entities of \(source) are called: `through` is the only way that they can be changed.")
            }
            return value == "through"
        }
    }

    private static func path(_ text: String, _ place: String) throws -> String {
        let path = text.hasPrefix("/") ? String(text.dropFirst()) : text
        guard !path.contains("?"), !path.contains("#"), !path.contains(".."), !path.contains(":"),
            path.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f })
        else { throw ConfigurationProblem("\(place).path", "This is no path such as `sap/opu/odata/sap/NAME/`.") }
        return path.isEmpty || path.hasSuffix("/") ? path : path + "/"
    }

    private static func changeProperties(
        _ sets: WireDictionary, _ tables: ServiceTables, _ place: String
    ) throws -> [String: String] {
        var properties: [String: String] = [:]
        for set in sets {
            guard let property = set.value["changes"]?.stringValue, let table = tables[set.key] else { continue }
            let key = "\(place).sets.\(set.key).changes"
            guard let column = table.columns[property] else {
                throw ConfigurationProblem(key, "\(set.key) has no property \(property).")
            }
            let type = tables.model.primitive(behind: column.type.type)
            guard !column.type.isCollection, type == .dateTimeOffset || type == .date || type?.isInteger == true else {
                throw ConfigurationProblem(
                    key,
                    "\(property) is of type \(column.type); an instant, a day or a number tells when an entity was changed."
                )
            }
            properties[set.key] = property
        }
        return properties
    }

    private static func mirrors(
        _ values: WireDictionary, _ sets: WireDictionary, _ tables: ServiceTables, _ place: String,
        without called: Set<String>
    ) throws -> [MirrorSource] {
        func mirror(_ entity: EntityName, of set: String, _ reading: MirrorSource.Reading) throws -> MirrorSource? {
            var merged = values
            merged["mode"] = nil
            for member in sets[set]?.dictionaryValue ?? [:] where ofSets.contains(member.key) {
                merged[member.key] = member.value
            }
            // Which entities belong together is changed by properties of theirs alone.
            if reading == .snapshot { (merged[writing], merged[idempotencyKeys]) = (nil, nil) }
            do {
                return try MirrorSource(
                    entity, AdapterConfiguration(merged), reading: reading, isWritable: reading == .increments)
            } catch let problem as ConfigurationProblem {
                throw ConfigurationProblem("\(place).\(problem.path)", problem.message)
            }
        }
        return try tables.sources.filter { !called.contains($0) }.compactMap { tables[$0] }.compactMap {
            try mirror($0.entity, of: $0.source, .increments)
        }
            + tables.links.filter { !called.contains($0.source) && !called.contains($0.target) }.compactMap {
                try mirror($0.entity, of: $0.source, .snapshot)
            }
    }
}
