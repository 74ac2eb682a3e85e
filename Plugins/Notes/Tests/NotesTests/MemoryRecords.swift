import AdapterKit
import Notes
import Testing

/// Records of one entity in memory, seen through the entity's row rules as the host's store shows them.
///
/// It understands the filters that row rules produce and pages without order; a test that asks for more fails.
actor MemoryRecords {
    private let entity: Entity
    private var rows: [RecordID: Record] = [:]
    private var position: Int64 = 0

    init(_ entity: Entity) {
        self.entity = entity
    }

    nonisolated func seen(by name: String) -> any RecordStore {
        SeenRecords(base: self, principal: Principal(kind: .user, id: name, name: name))
    }

    fileprivate func visible(to principal: Principal, _ filter: Filter?) throws -> [Record] {
        let filter = Filter.both(filter, entity.rows.read.filter(for: principal)) ?? .always
        return try rows.values.filter { try filter.matches($0) }.sorted { $0.id < $1.id }
    }

    fileprivate func apply(_ changes: [RecordChange], as principal: Principal) throws -> WriteReceipt {
        let before = rows
        do {
            let records = try changes.map { try apply($0, as: principal) }
            return WriteReceipt(position: Revision(position), records: records)
        } catch {
            rows = before
            throw error
        }
    }

    private func apply(_ change: RecordChange, as principal: Principal) throws -> Record? {
        switch change.action {
        case .create(let id?, let fields):
            return write(id, ownership(of: principal), and: fields)
        case .update(let id, let fields):
            let found = try writable(id, by: principal)
            if case .revision(let revision) = change.condition, revision != found.revision {
                throw PorticoError(.preconditionFailed, "The record has changed.")
            }
            return write(id, found.fields, and: fields)
        case .delete(let id):
            rows[try writable(id, by: principal).id] = nil
            return nil
        case .create(nil, _), .replace:
            throw PorticoError(.serverInternal, "these records in memory cannot do that")
        }
    }

    /// The fields that name who created the record.
    private func ownership(of principal: Principal) -> WireDictionary {
        var fields = WireDictionary()
        for field in entity.fields where field.source == .creator { fields[field.name.text] = .string(principal.name) }
        return fields
    }

    private func writable(_ id: RecordID, by principal: Principal) throws -> Record {
        guard let record = try visible(to: principal, nil).first(where: { $0.id == id }) else {
            throw PorticoError(.recordNotFound, "There is no such record.")
        }
        guard try (entity.rows.write.filter(for: principal) ?? .always).matches(record) else {
            throw PorticoError(.accessDenied, "The record may not be changed.")
        }
        return record
    }

    private func write(_ id: RecordID, _ old: WireDictionary, and new: WireDictionary) -> Record {
        var fields = old
        for entry in new { fields[entry.key] = entry.value }
        position += 1
        let record = Record(id: id, revision: Revision(position), fields: fields)
        rows[id] = record
        return record
    }
}

private struct SeenRecords: RecordStore {
    let base: MemoryRecords
    let principal: Principal

    func record(_ id: RecordID, in entity: EntityName) async throws -> Record? {
        try await base.visible(to: principal, nil).first { $0.id == id }
    }

    func query(_ query: Query, in entity: EntityName) async throws -> RecordPage {
        RecordPage(records: Array(try await base.visible(to: principal, query.filter).prefix(query.limit)), next: nil)
    }

    func count(_ filter: Filter?, in entity: EntityName) async throws -> Int {
        try await base.visible(to: principal, filter).count
    }

    func apply(_ changes: [RecordChange]) async throws -> WriteReceipt {
        try await base.apply(changes, as: principal)
    }
}

extension Filter {
    fileprivate func matches(_ record: Record) throws -> Bool {
        switch self {
        case .compare(let field, .equal, let value): record[field] == value
        case .listContains(let field, let value): record[field].arrayValue?.contains(value) ?? false
        case .any(let filters): try filters.contains { try $0.matches(record) }
        case .all(let filters): try filters.allSatisfy { try $0.matches(record) }
        default: throw PorticoError(.serverInternal, "these records in memory do not know that filter")
        }
    }
}

/// Records in which somebody else is faster: before each of the first writes it lets another change happen.
actor ChangedMeanwhile: RecordStore {
    private let base: any RecordStore
    private var remaining: Int
    private let change: @Sendable () async throws -> Void

    init(_ base: any RecordStore, times: Int, _ change: @escaping @Sendable () async throws -> Void) {
        self.base = base
        self.remaining = times
        self.change = change
    }

    func record(_ id: RecordID, in entity: EntityName) async throws -> Record? {
        try await base.record(id, in: entity)
    }

    func query(_ query: Query, in entity: EntityName) async throws -> RecordPage {
        try await base.query(query, in: entity)
    }

    func count(_ filter: Filter?, in entity: EntityName) async throws -> Int {
        try await base.count(filter, in: entity)
    }

    func apply(_ changes: [RecordChange]) async throws -> WriteReceipt {
        if remaining > 0 {
            remaining -= 1
            try await change()
        }
        return try await base.apply(changes)
    }
}

/// What the host learns of the plugin.
enum Declared {
    static func adapter() throws -> AdapterDeclaration {
        try NotesModule.declare(AdapterConfiguration())
    }

    static func notes() throws -> Entity {
        try #require(adapter().entity("notes"))
    }
}
