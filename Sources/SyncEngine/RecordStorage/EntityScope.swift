import AdapterKit

/// The rows of one entity that a caller may reach, as conditions.
package struct EntityScope {
    package let collection: CollectionID
    /// Nil: every row.
    package let visible: Filter?
    private let writable: Filter?
    /// The rows that the caller may change, where it may change any. Nil: every row.
    package var changeable: Filter? { .both(visible, writable) }
    package let entity: Entity
    private let declaration: AdapterDeclaration
    private let principal: Principal?

    package init(_ name: EntityName, of declaration: AdapterDeclaration, for principal: Principal?) throws(PorticoError)
    {
        guard let entity = declaration.entity(name) else {
            throw PorticoError(.routeNotFound, "\(declaration.title) has no \(name).", target: name.text)
        }
        self.entity = entity
        self.declaration = declaration
        self.principal = principal
        collection = CollectionID(declaration.name, name)
        visible = principal.flatMap { entity.rows.read.filter(for: $0) }
        writable = principal.flatMap { entity.rows.write.filter(for: $0) }
    }

    /// For who reads. Throws `auth.required` or `access.denied` where the entity is not for such readers.
    init(
        reading name: EntityName, of declaration: AdapterDeclaration, for principal: Principal?
    ) throws(PorticoError) {
        try self.init(name, of: declaration, for: principal)
        try checkReader()
    }

    private func checkReader() throws(PorticoError) {
        guard let principal, let readers = entity.readers else { return }
        switch readers.decision(for: principal) {
        case .allowed: return
        case .loginRequired: throw PorticoError(.loginRequired, "Reading \(entity.name) needs a login.")
        case .denied: throw PorticoError(.accessDenied, "You may not read \(entity.name).")
        }
    }

    /// Throws `auth.required` or `access.denied` where the caller may not do that with any of the records.
    func require(_ effect: Effect) throws(PorticoError) {
        switch effect {
        case .reads: try checkReader()
        case .writes: try checkWriter()
        }
    }

    /// The record that a receipt has after a change: of one of an entity that the caller may not read, what the change
    /// said itself.
    func visibleRecord(of record: Record?, by change: RecordChange) -> Record? {
        guard let record, let principal, let readers = entity.readers, readers.decision(for: principal) != .allowed
        else { return record }
        var fields: WireDictionary = [:]
        for name in [entity.key.field.text] + change.fields.keys { fields[name] = record.fields[name] }
        return Record(id: record.id, revision: record.revision, fields: fields)
    }

    /// The caller's filter, within what it may see.
    func narrowing(_ filter: Filter?) throws(PorticoError) -> Filter? {
        guard let filter else { return visible }
        return .both(visible, try hidden(in: filter))
    }

    package func step(_ change: RecordChange) throws(PorticoError) -> WriteTransaction.Step {
        try checkWriter()
        return WriteTransaction.Step(
            adapter: declaration.name, change: change, visible: visible, writableBefore: writable,
            writableAfter: writable, isForCaller: principal != nil, kept: keptEntities(by: change))
    }

    /// Entities whose records must not go with one that is deleted: the caller may not write them. What the adapter keeps for itself goes.
    private func keptEntities(by change: RecordChange) -> Set<EntityName> {
        guard case .delete = change.action, let principal else { return [] }
        let closed = declaration.entities.filter { other in
            other.exposure == .resource && !other.owners.isEmpty
                && other.writers.map { $0.decision(for: principal) != .allowed } ?? false
        }
        return Set(closed.map(\.name))
    }

    private func checkWriter() throws(PorticoError) {
        guard let principal, let writers = entity.writers else { return }
        switch writers.decision(for: principal) {
        case .allowed: return
        case .loginRequired: throw PorticoError(.loginRequired, "Changing \(entity.name) needs a login.")
        case .denied:
            throw PorticoError(
                .accessDenied, declaration.writeRefusal(of: entity.name) ?? "You may not change \(entity.name).")
        }
    }

    /// A filter over related records must not tell anything about those that the caller may not see: their own row
    /// rules are added wherever the filter goes from one entity to another, which is one of the same adapter.
    private func hidden(in filter: Filter) throws(PorticoError) -> Filter {
        switch filter {
        case .related(let field, let name, let inner):
            guard declaration.entity(name) != nil else {
                throw PorticoError(.requestInvalid, "\(declaration.title) has no \(name).", target: field.text)
            }
            let other = try EntityScope(reading: name, of: declaration, for: principal)
            return .related(field, name, try other.narrowing(inner) ?? .always)
        case .all(let parts): return .all(try hidden(in: parts))
        case .any(let parts): return .any(try hidden(in: parts))
        case .not(let part): return .not(try hidden(in: part))
        default: return filter
        }
    }

    private func hidden(in parts: [Filter]) throws(PorticoError) -> [Filter] {
        var result: [Filter] = []
        for part in parts { result.append(try hidden(in: part)) }
        return result
    }
}

/// Which rows of an adapter's entities a caller may read: a store narrows every source of a relation to them.
public struct VisibleRows: Sendable {
    /// The adapter whose entities they are.
    public let adapter: AdapterName
    private let declaration: AdapterDeclaration
    /// Nil: the adapter itself.
    private let principal: Principal?

    /// `principal` nil: the adapter itself, which sees every row.
    public init(of declaration: AdapterDeclaration, for principal: Principal?) {
        adapter = declaration.name
        self.declaration = declaration
        self.principal = principal
    }

    /// Nil: every row. Throws `route.notFound` for an entity that the adapter does not have, and `auth.required` or
    /// `access.denied` for one that no caller of that kind may read.
    public func filter(of entity: EntityName) throws(PorticoError) -> Filter? {
        try EntityScope(reading: entity, of: declaration, for: principal).visible
    }
}

extension AdapterDeclaration {
    /// Why no caller may write the records of an entity, as a sentence; nil: it depends on the caller.
    public func writeRefusal(of entity: EntityName) -> String? {
        guard let mirror = mirror(of: entity), mirror.writing == .none else { return nil }
        return
            "\(entity) is a mirror of the system \(mirror.upstream), which gets no changes from here. Change it there."
    }
}
