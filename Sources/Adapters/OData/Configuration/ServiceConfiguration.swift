import AdapterKit
import Foundation
import ODataEngine
import ODataModel
import WireFormats

/// One configured service: its parsed model, its tables and its settings.
struct ServiceConfiguration: Sendable {
    static let standardPageSize = 100

    let name: String
    /// Its name on SAP's paths; nil where it has none.
    let sapName: String?
    let rights: ServiceRights
    let pageSize: Int
    let limits: ServiceLimits
    let tables: ServiceTables
    let entities: [Entity]
    let seed: String?
    /// How many students the demonstration's samples have.
    let samples: Int
    private static let standardSamples = 100_000
    /// By set: the discriminator property.
    let discriminators: [String: String]
    /// Where the entities' truth is; nil: here.
    let upstream: ServiceUpstream?

    var model: EntityDataModel { tables.model }

    /// Who may read its documents and call its operations.
    var access: AccessRights { rights.service }

    /// Whose records can be searched.
    var searched: Set<EntityName> { Set(entities.filter { !$0.searchFields.isEmpty }.map(\.name)) }

    /// The sets that no caller may write.
    var closedSets: Set<String> {
        Set(
            tables.sources.filter { source in
                rights[source].write?.isNobody ?? true
                    || upstream.map { $0.called.contains(source) && !$0.written.contains(source) } ?? false
                    || tables[source].map { upstream?.unwritten.contains($0.entity) ?? false } ?? false
            })
    }

    /// In the order of their names. Throws ``ConfigurationProblem``.
    static func all(_ configuration: AdapterConfiguration) throws -> [ServiceConfiguration] {
        let services = configuration["services"]?.dictionaryValue ?? [:]
        let standard = configuration["access"].flatMap { AccessRights(configurationValue: $0) } ?? .login
        let limits = ServiceLimits(configuration["limits"]?.dictionaryValue ?? [:])
        let all = try services.map { entry in
            try ServiceConfiguration(
                entry.key, entry.value.dictionaryValue ?? [:], standard: standard, limits: limits,
                directory: configuration.directory, ofCallers: configuration.upstreamsOfCallers)
        }.sorted { $0.name < $1.name }
        try checkNames(all)
        return all
    }

    private static func checkNames(_ services: [ServiceConfiguration]) throws {
        var taken: [String: String] = [:]
        for service in services {
            guard let sapName = service.sapName else { continue }
            if let other = taken[sapName] {
                throw ConfigurationProblem(
                    "services.\(service.name).sapName", "\(other) is at SAP's path \(sapName) already.")
            }
            taken[sapName] = service.name
        }
    }

    private init(
        _ name: String, _ values: WireDictionary, standard: AccessRights, limits: ServiceLimits, directory: String,
        ofCallers: Set<UpstreamName>
    ) throws {
        guard PathTemplate("/\(name)") != nil, EntityName(name) != nil, name.utf8.count <= 24 else {
            throw ConfigurationProblem(
                "services.\(name)", "A service's name has letters, digits, `_` and `-`, at most 24.")
        }
        guard let file = values["model"]?.stringValue else {
            throw ConfigurationProblem("services.\(name)", "A service needs a model.")
        }
        try ServiceUpstream.check(name, values)
        self.name = name
        self.limits = limits
        pageSize = values["pageSize"]?.int64Value.map { Int($0) } ?? Self.standardPageSize
        samples = values["samples"]?.int64Value.map { Int($0) } ?? Self.standardSamples
        seed = values["seed"]?.stringValue.map { Self.path($0, directory) }
        var servable: ServableTables?
        do {
            let bytes = try Self.contents(Self.path(file, directory))
            if values["upstream"] != nil {
                servable = try ServableTables(service: name, csdl: bytes, without: ServiceUpstream.disabled(values))
            }
            tables = try servable?.tables ?? ServiceTables(service: name, model: EntityDataModel(csdl: bytes))
        } catch let problem as CSDLProblem {
            throw ConfigurationProblem("services.\(name).model", "\(file): \(problem)")
        }
        sapName = try Self.sapName(values["sapName"]?.stringValue, tables.model, name)
        rights = try ServiceRights(name, values, tables, standard: standard)
        for key in ["search", "unique", "discriminators"] { try Self.checkNames(values[key], key, name, tables) }
        if let seed { try Self.checkSeed(seed, name, tables) }
        discriminators = Self.pairs(values["discriminators"]).mapValues { $0.first ?? "" }
        upstream = try servable.map { try ServiceUpstream(name, values, $0, ofCallers: ofCallers) }
        let called = upstream?.withoutRecords(of: tables) ?? []
        entities = try Self.entities(name, values, tables, rights).filter { !called.contains($0.name) }
    }

    /// The default is the model's namespace, if it is valid in a path.
    private static func sapName(_ given: String?, _ model: EntityDataModel, _ name: String) throws -> String? {
        let sapName = given ?? model.container.name.namespace
        if PathTemplate("/\(sapName)") != nil, sapName.utf8.allSatisfy({ $0 != 0x2F }) { return sapName }
        guard given == nil else {
            throw ConfigurationProblem("services.\(name).sapName", "A path cannot hold this name.")
        }
        return nil
    }

    private static func entities(
        _ name: String, _ values: WireDictionary, _ tables: ServiceTables, _ rights: ServiceRights
    ) throws -> [Entity] {
        let entities = tables.entities(
            rights: { rights[$0] }, policy: policy(values["conflicts"]?.stringValue),
            searched: pairs(values["search"]), unique: pairs(values["unique"]),
            indexes: try indexes(name, values["indexes"], tables), areMirrors: values["upstream"] != nil)
        for entity in entities {
            do { _ = try EntityRules(entity) } catch {
                throw ConfigurationProblem("services.\(name).model", error.message)
            }
        }
        return entities
    }

    /// Paths of several properties are one index. Throws ``ConfigurationProblem`` for what the model has not.
    private static func indexes(
        _ name: String, _ value: WireValue?, _ tables: ServiceTables
    ) throws -> [String: [[String]]] {
        var indexes: [String: [[String]]] = [:]
        for item in value?.arrayValue ?? [] {
            let paths = (item.arrayValue ?? [item]).compactMap(\.stringValue)
            let (set, properties) = try DeclaredIndex(paths, of: tables).parts(at: "services.\(name).indexes")
            indexes[set, default: []].append(properties)
        }
        return indexes
    }

    private static func policy(_ text: String?) -> ConflictPolicy {
        switch text {
        case "reject": .reject
        case "lastWriterWins": .lastWriterWins
        default: .merge
        }
    }

    /// `Set/Property` by set.
    private static func pairs(_ value: WireValue?) -> [String: [String]] {
        var pairs: [String: [String]] = [:]
        for text in (value?.arrayValue ?? []).compactMap(\.stringValue) {
            let parts = text.split(separator: "/", maxSplits: 1).map(String.init)
            if parts.count == 2 { pairs[parts[0], default: []].append(parts[1]) }
        }
        return pairs
    }

    /// Throws ``ConfigurationProblem`` where a text is no `Set/Property` of the model.
    private static func checkNames(
        _ value: WireValue?, _ key: String, _ name: String, _ tables: ServiceTables
    ) throws {
        for text in (value?.arrayValue ?? []).compactMap(\.stringValue) {
            let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, tables[parts[0]]?.column(parts[1]) != nil else {
                throw ConfigurationProblem(
                    "services.\(name).\(key)",
                    "\(text.debugDescription) is no property of a set of the model, such as `Products/Name`.")
            }
        }
    }

    /// Throws ``ConfigurationProblem`` where the file cannot be read, or has rows for sets that the model lacks.
    private static func checkSeed(_ path: String, _ name: String, _ tables: ServiceTables) throws {
        let key = "services.\(name).seed"
        guard let data = FileManager.default.contents(atPath: path) else {
            throw ConfigurationProblem(key, "\(path) cannot be read.")
        }
        guard case .dictionary(let members)? = try? JSONFormat().read(Array(data)) else {
            throw ConfigurationProblem(key, "\(path) is no JSON document with sets by name.")
        }
        for member in members where !member.key.hasPrefix("_") && tables[member.key] == nil {
            throw ConfigurationProblem(key, "\(path): the model has no set \(member.key.debugDescription).")
        }
    }

    private static func path(_ text: String, _ directory: String) -> String {
        text.hasPrefix("/") ? text : "\(directory)/\(text)"
    }

    /// As the operating system says it.
    private static func reason(_ error: any Error) -> String {
        let cause = (error as? CocoaError)?.underlying as? POSIXError
        let words = cause.map { String(cString: strerror($0.code.rawValue)) } ?? error.localizedDescription
        return words.prefix(1).lowercased() + words.dropFirst()
    }

    private static func contents(_ path: String) throws -> [UInt8] {
        do { return Array(try Data(contentsOf: URL(fileURLWithPath: path))) } catch {
            throw CSDLProblem("The file cannot be read: \(Self.reason(error)).")
        }
    }
}

extension ServiceConfiguration {
    var mounts: [HTTPMount] { roots.map { $0.mount(rights.described) } }

    /// OData 4.01, OData 2.0, and that once more where SAP's services have it.
    var roots: [ServiceRoot] {
        var roots = [
            ServiceRoot(name: OperationName(unchecked: "v4-\(name)"), path: "/odata/v4/\(name)", version: .version4),
            ServiceRoot(name: OperationName(unchecked: "v2-\(name)"), path: "/odata/v2/\(name)", version: .version2),
        ]
        guard let sapName else { return roots }
        for kind in ["odata", "sdata"] {
            roots.append(
                ServiceRoot(
                    name: OperationName(unchecked: "sap-\(kind)-\(name)"), path: "/sap/opu/\(kind)/sap/\(sapName)",
                    version: .version2))
        }
        return roots
    }
}

/// An index that an operator declares: `Set/Property`, or several properties of one set.
struct DeclaredIndex {
    /// SQLite's indexes may have more; no page is found faster by them.
    static let maximumProperties = 16

    private let paths: [String]
    private let tables: ServiceTables

    init(_ paths: [String], of tables: ServiceTables) {
        self.paths = paths
        self.tables = tables
    }

    /// The set and its properties, in order. Throws ``ConfigurationProblem`` at the key `place`, which names what is wrong.
    func parts(at entityPath: String) throws -> (set: String, properties: [String]) {
        var set: String?
        var properties: [String] = []
        for path in paths {
            let (table, property) = try part(path, entityPath)
            guard set == nil || set == table.source else {
                throw ConfigurationProblem(
                    entityPath, "\(path): an index is of one set, and this one began with \(set ?? "").")
            }
            set = table.source
            guard !properties.contains(property) else {
                throw ConfigurationProblem(entityPath, "\(path) stands in the index twice.")
            }
            properties.append(property)
        }
        guard let set, properties.count <= Self.maximumProperties else {
            throw ConfigurationProblem(entityPath, "An index has 1 to \(Self.maximumProperties) properties.")
        }
        return (set, properties)
    }

    private func part(_ path: String, _ entityPath: String) throws -> (RecordTable, String) {
        let names = path.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard names.count == 2 else {
            throw ConfigurationProblem(entityPath, "\(path): an index names properties as Set/Property.")
        }
        guard let table = tables[names[0]] else {
            throw ConfigurationProblem(
                entityPath, "\(path): the model has no set \(names[0]).\(Self.hint(names[0], tables.sources))")
        }
        guard let column = table.columns[names[1]] else {
            throw ConfigurationProblem(
                entityPath,
                "\(path): \(names[0]) has no property \(names[1]).\(Self.hint(names[1], table.columns.keys.sorted()))")
        }
        guard !column.type.isCollection, isOrdered(column.type.type) else {
            throw ConfigurationProblem(
                entityPath, "\(path): an index is of properties with an order, and \(column.type) has none.")
        }
        return (table, names[1])
    }

    private func isOrdered(_ type: TypeName) -> Bool {
        if case .enumeration = type { return true }
        guard let primitive = tables.model.primitive(behind: type) else { return false }
        return !primitive.isSpatial && primitive != .stream && primitive != .binary
    }

    /// The name that was meant, where only letters' case differs.
    private static func hint(_ name: String, _ names: [String]) -> String {
        names.first { $0.lowercased() == name.lowercased() }.map { " Did you mean \($0)?" } ?? ""
    }
}

/// A root path of a service and the protocol version that it serves.
struct ServiceRoot: Sendable, Equatable {
    enum Version: Sendable, Equatable {
        case version4, version2
    }

    let name: OperationName
    /// Without a slash at its end.
    let path: String
    let version: Version

    /// For whom `access` lets in.
    func mount(_ access: AccessRights) -> HTTPMount {
        switch version {
        case .version4:
            return HTTPMount(
                name, summary: "The service at \(path), OData 4.01.", path: PathTemplate(stringLiteral: path),
                methods: ["GET", "POST", "PATCH", "PUT", "DELETE"], readingPosts: ["$query"],
                authorization: .byOperation, access: access, tellsAge: true)
        case .version2:
            return HTTPMount(
                name, summary: "The service at \(path), OData 2.0.", path: PathTemplate(stringLiteral: path),
                methods: ["GET", "POST", "PUT", "MERGE", "PATCH", "DELETE"], requiresToken: true,
                mediaType: "*/*", authorization: .byOperation, access: access, tellsAge: true)
        }
    }
}
