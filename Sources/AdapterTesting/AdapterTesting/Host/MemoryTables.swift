import AdapterKit
import RecordEvaluation
import RecordStorage

/// All rows of an adapter's entities; a value, so a transaction is a copy that replaces the original when it succeeds.
struct MemoryTables {
    struct Table {
        /// Held apart from the rows: who holds those while they change makes a copy of them all.
        let rules: EntityRules
        var rows: [RecordID: Record] = [:]
        /// The ids of deleted records that may have been private, and who deleted them; nil: the adapter.
        var retired: [RecordID: String?] = [:]

        var entity: Entity { rules.entity }
    }

    var tables: [EntityName: Table]
    var position = Revision(0)
    let recordRules: (any RecordRules)?

    init(_ declaration: AdapterDeclaration) throws(PorticoError) {
        tables = [:]
        recordRules = declaration.rules
        for entity in declaration.entities { tables[entity.name] = Table(rules: try EntityRules(entity)) }
    }

    func table(_ entity: EntityName) throws -> Table {
        guard let table = tables[entity] else {
            throw PorticoError(.serverInternal, "There is no entity \(entity).", target: entity.text)
        }
        return table
    }

    func record(_ id: RecordID, in entity: EntityName, seenBy viewer: Viewer) throws -> Record? {
        let table = try readable(entity, by: viewer)
        guard let record = table.rows[id] else { return nil }
        return matches(viewer.filter(table.entity.rows.read), record, of: table.entity) ? record : nil
    }

    private func readable(_ entity: EntityName, by viewer: Viewer) throws -> Table {
        let table = try table(entity)
        if case .principal(let principal) = viewer, let readers = table.entity.readers {
            try readers.authorize(principal)
        }
        return table
    }

    /// In no order. Throws for a filter that means nothing for the entity.
    func matching(_ filter: Filter?, in entity: EntityName, seenBy viewer: Viewer) throws -> [Record] {
        let table = try readable(entity, by: viewer)
        guard let whole = Filter.both(filter, viewer.filter(table.entity.rows.read)) else {
            return Array(table.rows.values)
        }
        try FilterCheck(table.entity) { try self.table($0).entity }.check(whole)
        let evaluator = evaluator(of: table.entity)
        return table.rows.values.filter { evaluator.matches(whole, $0) }
    }

    func page(_ query: Query, in entity: EntityName, seenBy viewer: Viewer) throws -> RecordPage {
        try query.checkSize()
        let table = try readable(entity, by: viewer)
        try table.entity.checkCursor(of: query)
        var query = query
        let matching = try matching(query.filter, in: entity, seenBy: viewer)
        query.filter = nil
        return try evaluator(of: table.entity).page(query, of: matching)
    }

    func matches(_ filter: Filter?, _ record: Record, of entity: Entity) -> Bool {
        filter.map { evaluator(of: entity).matches($0, record) } ?? true
    }

    private func evaluator(of entity: Entity) -> RecordEvaluator {
        RecordEvaluator(entity) { name, id in
            guard let table = tables[name], let record = table.rows[id] else { return nil }
            return (table.entity, record)
        }
    }
}

extension MemoryTables {
    mutating func apply(_ changes: [RecordChange], by viewer: Viewer, at now: WireDate) throws -> WriteReceipt {
        if let recordRules, case .principal(let principal) = viewer {
            return try apply(changes, under: recordRules, for: principal, at: now)
        }
        let records = try changes.map { try apply($0, by: viewer, at: now) }
        return WriteReceipt(position: position, records: records)
    }

    private mutating func apply(
        _ changes: [RecordChange], under rules: any RecordRules, for principal: Principal, at now: WireDate
    ) throws -> WriteReceipt {
        let viewer = Viewer.principal(principal)
        var records: [Record?] = []
        var put: [(EntityName, RecordID)] = []
        var firstCount = 0
        for change in changes {
            let current = try change.recordID.flatMap { try table(change.entity).rows[$0] }
            if let current { try refuseUnlessApplicable(change, to: current, by: viewer) }
            let prepared = try rules.prepare(
                change.withoutRuled(try table(change.entity).entity), of: current, in: writing(principal, now))
            try prepared.checkFirst(atMost: rules.maximumFirst, after: firstCount)
            firstCount += prepared.first.count
            for first in prepared.first {
                if prepared.asksCaller { try admit(viewer, to: try table(first.entity).entity) }
                if let record = try apply(first, by: .adapter, at: now) { put.append((first.entity, record.id)) }
            }
            records.append(try apply(prepared.change, by: viewer, at: now))
            if let record = records.last ?? nil { put.append((change.entity, record.id)) }
        }
        for (entity, id) in put {
            guard let record = try table(entity).rows[id] else { continue }
            try rules.verify(record, of: entity, in: writing(principal, now))
        }
        return WriteReceipt(position: position, records: records)
    }

    /// Before an adapter's rules see the record: a creation under its id is refused as taken, also for callers that may not see the record.
    private func refuseUnlessApplicable(_ change: RecordChange, to record: Record, by viewer: Viewer) throws {
        let entity = try table(change.entity).entity
        switch change.action {
        case .create: throw Self.taken(record.id)
        case .replace(_, _, orCreate: true)
        where !matches(viewer.filter(entity.rows.read), record, of: entity)
            && (change.condition == .none || change.condition == .absent):
            throw Self.taken(record.id)
        default: _ = try existing(record.id, change, by: viewer)
        }
    }

    private static func taken(_ id: RecordID) -> PorticoError {
        PorticoError(.recordExists, "There is such a record already.", target: id.text)
    }

    func writing(_ caller: Principal, _ now: WireDate) -> RecordRuleContext {
        RecordRuleContext(snapshot: MemorySnapshot(tables: self), caller: caller, now: now)
    }

    private mutating func apply(_ change: RecordChange, by viewer: Viewer, at now: WireDate) throws -> Record? {
        let rules = try table(change.entity).rules
        let authorship = Authorship(author: viewer.name, time: now, position: Revision(position.number + 1))
        try admit(viewer, to: rules.entity)
        switch change.action {
        case .create(let id, let fields):
            return try create(rules.create(id, fields, authorship), rules, by: viewer)
        case .update(let id, let fields):
            let old = try existing(id, change, by: viewer)
            return try store(id, rules.update(old, fields, authorship), in: rules.entity, by: viewer)
        case .replace(let id, let fields, let orCreate):
            let found = try table(change.entity).rows[id]
            let isSeen = found.map { matches(viewer.filter(rules.entity.rows.read), $0, of: rules.entity) }
            guard orCreate, isSeen != true else {
                let old = try existing(id, change, by: viewer)
                return try store(id, rules.replace(old, fields, authorship), in: rules.entity, by: viewer)
            }
            guard change.condition == .none || change.condition == .absent else { throw Self.preconditionFailed }
            return try create(rules.create(id, fields, authorship), rules, by: viewer)
        case .delete(let id):
            try remove(try existing(id, change, by: viewer), of: rules.entity, by: viewer)
            return nil
        }
    }

    private mutating func create(_ draft: RecordDraft, _ rules: EntityRules, by viewer: Viewer) throws -> Record {
        guard let id = draft.id else {
            let id = try table(rules.entity.name).nextID()
            return try store(id, draft.assigning(id, by: rules), in: rules.entity, by: viewer)
        }
        guard try table(rules.entity.name).rows[id] == nil, !isReserved(id, of: rules.entity, for: viewer) else {
            throw Self.taken(id)
        }
        return try store(id, draft, in: rules.entity, by: viewer)
    }

    /// Deletes a record with everything that belongs to it.
    private mutating func remove(_ record: Record, of entity: Entity, by viewer: Viewer) throws {
        var doomed = [(entity: entity, id: record.id)]
        while let next = doomed.popLast() {
            guard tables[next.entity.name]?.rows.removeValue(forKey: next.id) != nil else { continue }
            position = Revision(position.number + 1)
            if next.entity.hasPrivateRows { tables[next.entity.name]?.retired[next.id] = .some(viewer.callerName) }
            for table in tables.values {
                for owner in table.entity.owners where owner.entity == next.entity.name {
                    let owned = table.rows.values.filter { RecordID(key: $0[owner.field]) == next.id }
                    if !owned.isEmpty, table.entity.exposure == .resource { try admit(viewer, to: table.entity) }
                    doomed += owned.map { (table.entity, $0.id) }
                }
            }
        }
    }

    /// Whether the id is refused as taken although no record has it: it was another's, or is referred to.
    private func isReserved(_ id: RecordID, of entity: Entity, for viewer: Viewer) -> Bool {
        guard let name = viewer.callerName else { return false }
        if let author = tables[entity.name]?.retired[id], author != name { return true }
        return tables.values.contains { table in
            table.entity.references.contains { reference in
                reference.entity == entity.name
                    && table.rows.values.contains { RecordID(key: $0[reference.field]) == id }
            }
        }
    }

    private func admit(_ viewer: Viewer, to entity: Entity) throws {
        guard case .principal(let principal) = viewer, let writers = entity.writers else { return }
        try writers.authorize(principal)
    }

    /// The record that is there and may be changed: one that the caller cannot see is reported as not there.
    private func existing(_ id: RecordID, _ change: RecordChange, by viewer: Viewer) throws -> Record {
        let table = try table(change.entity)
        guard let record = table.rows[id],
            matches(viewer.filter(table.entity.rows.read), record, of: table.entity)
        else {
            guard change.condition == .none || change.condition == .absent else { throw Self.preconditionFailed }
            throw PorticoError(.recordNotFound, "There is no such record.", target: id.text)
        }
        let isMet =
            switch change.condition {
            case .none, .exists: true
            case .absent: false
            case .revision(let revision): record.revision == revision
            }
        guard isMet else { throw Self.preconditionFailed }
        try mayWrite(record, table.entity, viewer)
        return record
    }

    private mutating func store(
        _ id: RecordID, _ draft: RecordDraft, in entity: Entity, by viewer: Viewer
    ) throws -> Record {
        position = Revision(position.number + 1)
        let record = Record(id: id, revision: position, fields: draft.fields)
        try mayWrite(record, entity, viewer)
        try checkUnique(record, of: entity)
        tables[entity.name]?.rows[id] = record
        return record
    }

    /// Before and after the change: a caller cannot move a record to where it may not write.
    private func mayWrite(_ record: Record, _ entity: Entity, _ viewer: Viewer) throws {
        guard matches(viewer.filter(entity.rows.write), record, of: entity) else {
            throw PorticoError(.accessDenied, "You may not change this record.", target: record.id.text)
        }
    }

    private func checkUnique(_ record: Record, of entity: Entity) throws {
        for index in entity.indexes where index.isUnique {
            let values = index.fields.map { record[$0] }
            guard !values.contains(where: \.isNull) else { continue }
            let twin = try table(entity.name).rows.values.first { other in
                other.id != record.id && zip(index.fields, values).allSatisfy { ValueOrder.compare(other[$0], $1) == 0 }
            }
            if twin != nil {
                throw PorticoError(
                    .recordExists, "Another record has this value already.", target: index.fields[0].text)
            }
        }
    }

    private static let preconditionFailed = PorticoError(.preconditionFailed, "The record is not as it should be.")
}

extension MemoryTables.Table {
    /// The id of a record that was created without one. Numbers go on from the largest; texts are numbered too, so that a
    /// test knows them.
    func nextID() -> RecordID {
        guard case .integer? = entity.field(entity.key.field)?.shape else {
            var number = rows.count + 1
            while rows[RecordID(unchecked: "\(entity.name)-\(number)")] != nil { number += 1 }
            return RecordID(unchecked: "\(entity.name)-\(number)")
        }
        let largest = rows.keys.compactMap { Int64($0.text) }.max() ?? 0
        return RecordID(unchecked: String(largest + 1))
    }
}
