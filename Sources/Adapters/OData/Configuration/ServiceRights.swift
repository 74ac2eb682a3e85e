import AdapterKit
import ODataEngine

/// Who may read and write a service, and those of its sets that say something else.
struct ServiceRights: Sendable, Equatable {
    /// Of its documents, its operations, and the sets that say nothing.
    let service: AccessRights
    /// By set, with what the service says where a set does not.
    private let sets: [String: AccessRights]

    /// `standard`: what holds where the service says nothing. Throws ``ConfigurationProblem`` for a set that the model has not.
    init(_ name: String, _ values: WireDictionary, _ tables: ServiceTables, standard: AccessRights) throws {
        let own = values["access"].flatMap { AccessRights(configurationValue: $0) } ?? AccessRights()
        let service = own.over(standard)
        var sets: [String: AccessRights] = [:]
        for set in values["sets"]?.dictionaryValue ?? [:] where set.value["enabled"]?.boolValue != false {
            guard tables[set.key] != nil else {
                throw ConfigurationProblem(
                    "services.\(name).sets.\(set.key).access",
                    "The model has no set \(set.key): it has \(tables.sources.joined(separator: ", ")).")
            }
            let given = set.value["access"].flatMap { AccessRights(configurationValue: $0) } ?? AccessRights()
            sets[set.key] = given.over(service)
        }
        self.init(service, sets: sets)
    }

    init(_ service: AccessRights, sets: [String: AccessRights] = [:]) {
        let service = AccessRights(
            read: service.reading, write: service.write ?? .nobody, refresh: service.refresh)
        self.service = service
        self.sets = sets.mapValues { $0.over(service) }
    }

    /// Of the records of a set; both are given.
    subscript(set: String) -> AccessRights {
        let rights = sets[set] ?? service
        return AccessRights(read: rights.reading, write: rights.write ?? .nobody)
    }

    private var all: [AccessRights] { [service] + sets.values }

    /// Throws `auth.required` or `access.denied` for a caller who may do so with no set. What it may with each, the records
    /// decide.
    func admit(_ caller: Principal, effect: Effect) throws(PorticoError) {
        let isAdmitted = all.contains { rights in
            let access = effect == .reads ? rights.reading : rights.write ?? .nobody
            return access.decision(for: caller) == .allowed
        }
        if !isAdmitted { try service.authorize(caller, effect: effect) }
    }

    /// For descriptions, which cannot say what differs from set to set.
    var described: AccessRights {
        AccessRights(
            read: Set(all.map(\.reading)).count == 1 ? service.reading : nil,
            write: Set(all.map { $0.write ?? .nobody }).count == 1 ? service.write : nil)
    }

    /// What services together allow: the records of each decide what it does.
    static func widest(_ services: [ServiceRights]) -> AccessRights {
        let all = services.flatMap(\.all)
        return AccessRights(read: widest(all.map(\.reading)), write: widest(all.map { $0.write ?? .nobody }))
    }

    private static func widest(_ accesses: [Access]) -> Access? {
        if let open = [Access.public, .login].first(where: accesses.contains) { return open }
        let roles = accesses.reduce(into: Set<RoleName>()) { roles, access in
            if case .roles(let some) = access { roles.formUnion(some) }
        }
        return roles.isEmpty ? accesses.first : .roles(roles)
    }
}
