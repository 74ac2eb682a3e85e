import AdapterKit

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
            let page = try await host.records.everything.query(Query(limit: Self.tried), in: entity.name)
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
            entity: entity.name, change: change, current: record, changedSince: nil, caller: .someone)
        let before = host.records.position
        do {
            let decision = try await host.adapter.settle(conflict)
            let again = try await host.adapter.settle(conflict)
            return (decision == again ? [] : ["it settles a conflict of \(entity.name) differently the second time"])
                + (before == host.records.position ? [] : ["settling a conflict of \(entity.name) changes records"])
                + misfits(decision, entity)
        } catch {
            return error is PorticoError ? [] : ["settling throws what is not in the registry: \(error)"]
        }
    }

    private func misfits(_ decision: ConflictDecision, _ entity: Entity) -> [String] {
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
