import AdapterKit

/// What is wrong with an entity beyond itself; what it contradicts in itself is told by the store's own rules.
struct EntityProblems {
    private let entity: Entity
    private let declaration: AdapterDeclaration

    init(_ entity: Entity, in declaration: AdapterDeclaration) {
        self.entity = entity
        self.declaration = declaration
    }

    var all: [String] {
        (entity.summary.isEmpty ? ["the entity \(entity.name) lacks a summary"] : []) + contradictions
            + members(entity.rows.read) + members(entity.rows.write)
    }

    private var contradictions: [String] {
        do {
            _ = try EntityRules(entity)
            return []
        } catch {
            return [error.message]
        }
    }

    private func members(_ rule: RowRule) -> [String] {
        switch rule {
        case .memberOf(let other, _, let members): self.members(members, of: other)
        case .not(let rule): self.members(rule)
        case .any(let rules), .all(let rules): rules.flatMap { self.members($0) }
        default: []
        }
    }

    private func members(_ field: FieldName, of other: EntityName) -> [String] {
        guard let other = declaration.entity(other) else {
            return ["a row rule of \(entity.name) names \(other), which is not declared"]
        }
        if case .list(.string)? = other.field(field)?.shape { return [] }
        return ["a row rule of \(entity.name) takes \(other.name).\(field) for a list of names"]
    }
}
