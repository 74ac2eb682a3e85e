import AdapterKit
import ODataEngine
import ODataLanguage

extension ServiceRequest {
    /// Knowing how old the mirrored records of these entities are. Throws where they are too old to be served. A request
    /// that writes does not ask.
    func aged(by entities: @autoclosure () -> Set<EntityName>) async throws -> ServiceRequest {
        guard method == "GET", !(ages is NoRecordAges) else { return self }
        return answered(at: try await ages.age(of: entities()))
    }
}

extension ResourcePath {
    /// The entities whose records the answer to a read is made of; all of them where it joins some.
    func entities(_ request: ServiceRequest, of tables: ServiceTables) -> Set<EntityName> {
        let joins = request.target.options.contains { option in
            switch option.form {
            case .expand, .apply: true
            default: false
            }
        }
        guard !joins else { return tables.entities }
        switch target {
        case .entities(let path) where path.isRelated: return tables.entities
        case .entity(let path) where path.isRelated: return tables.entities
        case .entities(let path): return [path.table.entity]
        case .entity(let path), .property(let path, _), .stream(let path, _): return [path.table.entity]
        case .operation: return tables.entities
        }
    }
}

extension EntityCollectionPath {
    /// Whether a navigation property leads there, whose links may be records of their own.
    fileprivate var isRelated: Bool {
        switch origin {
        case .all: false
        case .related: true
        case .filtered(let path, _): path.isRelated
        }
    }
}

extension EntityPath {
    fileprivate var isRelated: Bool {
        switch origin {
        case .key: false
        case .related: true
        case .member(let path, _): path.isRelated
        }
    }
}

extension ServiceTables {
    /// Of all sets, and of the links between them.
    var entities: Set<EntityName> { Set(tables.values.map { $0.entity } + links.map(\.entity)) }
}

extension MountHeaders {
    /// `Age` (RFC 9111) and `Cache-Status` (RFC 9211); a part of a batch has its own.
    mutating func tell(_ age: RecordAge?) {
        guard let age else { return }
        self["Age"] = String(age.seconds)
        self["Cache-Status"] = age.cacheStatus
    }
}
