import AdapterKit

extension RowRule {
    /// What ``filter(for:)`` says of a row, decided in memory, for rows as they were: the store knows only those that
    /// are. `isMember` tells whether the principal is in the list field of that record.
    package func holds(
        for principal: Principal, _ values: WireDictionary,
        isMember: (EntityName, RecordID, FieldName) throws -> Bool
    ) rethrows -> Bool {
        switch self {
        case .everyone: return true
        case .nobody: return false
        case .owner(let field): return values.text(field)?.hasSameBytes(as: principal.name) ?? false
        case .sharedWith(let field): return values.list(field).contains(.string(principal.name))
        case .attributeEquals(let field, let attribute):
            guard let wanted = principal.attributes[attribute] else { return false }
            return values.text(field)?.hasSameBytes(as: wanted) ?? false
        case .signedIn: return !principal.isAnonymous
        case .hasRole(let role): return principal.roles.contains(role)
        case .fieldIsOneOf(let field, let wanted):
            guard let value = values[field.text], !value.isNull else { return false }
            return wanted.contains(value)
        case .memberOf(let entity, let field, let members):
            guard let id = values[field.text].flatMap({ RecordID(key: $0) }) else { return false }
            return try isMember(entity, id, members)
        case .not(let rule): return try !rule.holds(for: principal, values, isMember: isMember)
        case .any(let rules): return try rules.contains { try $0.holds(for: principal, values, isMember: isMember) }
        case .all(let rules): return try rules.allSatisfy { try $0.holds(for: principal, values, isMember: isMember) }
        }
    }

    /// The groups that the rule asks for membership, each once.
    package var groups: [GroupRelation] {
        switch self {
        case .memberOf(let entity, let field, let members):
            [GroupRelation(entity: entity, through: field, members: members)]
        case .not(let rule): rule.groups
        case .any(let rules), .all(let rules):
            rules.flatMap(\.groups).reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
        default: []
        }
    }
}

/// Rows name a record of `entity` in `through`; its list field `members` names who may see them.
package struct GroupRelation: Sendable, Hashable {
    package let entity: EntityName
    package let through: FieldName
    package let members: FieldName
}

extension WireDictionary {
    package func text(_ field: FieldName) -> String? { self[field.text]?.stringValue }
    package func list(_ field: FieldName) -> [WireValue] { self[field.text]?.arrayValue ?? [] }
}
