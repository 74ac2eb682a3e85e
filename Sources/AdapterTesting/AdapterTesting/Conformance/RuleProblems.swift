import AdapterKit

/// An adapter's record rules: they say the same when asked again, stay with the record that they are asked about, refuse
/// by codes, and hold for the adapter's own samples.
struct RuleProblems {
    let declaration: AdapterDeclaration
    let host: TestHost

    /// Sample records of one entity that are looked at.
    private static let tried = 3

    func all() async throws -> [String] {
        guard let rules = declaration.rules else { return unruled }
        var problems: [String] = []
        for entity in declaration.entities {
            let page = try await host.records.unrestricted.query(Query(limit: Self.tried), in: entity.name)
            for record in page.records {
                problems += try await host.records.problem(of: record, entity, under: rules)
                let changes: [RecordChange.Action] = [
                    .create(record.id, record.fields), .update(record.id, record.fields),
                    .replace(record.id, record.fields, orCreate: false), .delete(record.id),
                ]
                for change in changes.map({ RecordChange(entity.name, $0) }) {
                    problems += try await host.records.problems(
                        of: change.withoutRuled(entity), record, under: rules)
                }
            }
            for fields in EdgeCaseInputs(entity.recordShape).all {
                let change = RecordChange(entity.name, .create(nil, fields)).withoutRuled(entity)
                problems += try await host.records.problems(of: change, nil, under: rules)
            }
        }
        return problems
    }

    /// Fields that never get a value.
    private var unruled: [String] {
        declaration.entities.flatMap { entity in
            entity.fields.filter { $0.source == .rules }.map {
                "\(entity.name).\($0.name) is given by rules, of which there are none"
            }
        }
    }
}

extension MemoryRecords {
    /// What the rules have against a record that is there.
    fileprivate func problem(
        of record: Record, _ entity: Entity, under rules: any RecordRules
    ) async throws -> [String] {
        try await asking { writing in
            do {
                try rules.verify(record, of: entity.name, in: writing)
                return []
            } catch {
                return ["a sample of \(entity.name) breaks the adapter's rules: \(error)"]
            }
        }
    }

    fileprivate func problems(
        of change: RecordChange, _ record: Record?, under rules: any RecordRules
    ) async throws -> [String] {
        let before: Record? = if case .create = change.action { nil } else { record }
        return try await asking { writing in
            do {
                let prepared = try rules.prepare(change, of: before, in: writing)
                let again = try rules.prepare(change, of: before, in: writing)
                return
                    (prepared == again ? [] : ["the rules prepare a change of \(change.entity) differently each time"])
                    + (prepared.change.isSame(as: change) ? [] : ["the rules make another change of \(change.entity)"])
            } catch {
                return error is PorticoError ? [] : ["the rules throw what is not in the registry: \(error)"]
            }
        }
    }
}

extension RecordChange {
    /// Of the same kind, of the same record where that was named, under the same condition.
    fileprivate func isSame(as other: RecordChange) -> Bool {
        let isSameKind =
            switch (action, other.action) {
            case (.create, .create), (.update, .update), (.replace, .replace), (.delete, .delete): true
            default: false
            }
        return isSameKind && entity == other.entity && condition == other.condition
            && (other.recordID == nil || recordID == other.recordID)
    }
}

/// Conflicts that an adapter settles by itself: the same answer to the same conflict, nothing changed by asking, and
/// only changes that the entity allows.
struct ConflictProblems {
    let declaration: AdapterDeclaration
    let host: TestHost

    /// Sample records of one entity that conflicts are made of.
    private static let tried = 3

    func all() async throws -> [String] {
        var problems: [String] = []
        for entity in declaration.entities where entity.conflictPolicy == .adapterDecides {
            let page = try await host.records.unrestricted.query(Query(limit: Self.tried), in: entity.name)
            for record in page.records {
                for change in [.create(record.fields), .update(record.fields), .delete] as [RecordConflict.Change] {
                    problems += await self.problems(of: change, record, entity)
                }
            }
        }
        return problems
    }

    private func problems(
        of change: RecordConflict.Change, _ record: Record, _ entity: Entity
    ) async -> [String] {
        let conflict = RecordConflict(
            entity: entity.name, change: change, current: record, changedSince: nil, caller: .testUser)
        let before = host.records.position
        do {
            let decision = try await host.adapter.resolve(conflict)
            let again = try await host.adapter.resolve(conflict)
            return (decision == again ? [] : ["it settles a conflict of \(entity.name) differently the second time"])
                + (before == host.records.position ? [] : ["settling a conflict of \(entity.name) changes records"])
                + misfits(decision, entity)
        } catch {
            return error is PorticoError ? [] : ["settling throws what is not in the registry: \(error)"]
        }
    }

    private func misfits(_ decision: ConflictResolution, _ entity: Entity) -> [String] {
        guard case .change(let fields) = decision else { return [] }
        let members = entity.fields.filter { $0.name != entity.key.field }.map {
            Member($0.name, $0.shape, isNullable: $0.isNullable)
        }
        do {
            try Shape.object(ObjectShape(entity.name.text, members: members)).check(
                .dictionary(fields), at: entity.name.text)
            return []
        } catch {
            return ["it settles a conflict by what does not fit: \(error)"]
        }
    }
}
