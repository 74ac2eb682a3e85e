import AdapterKit

extension RowRule {
    /// The decision of ``filter(for:)`` about a row, made in memory, for rows as they were: the store knows only those that
    /// are. `isMember` returns whether the principal is in the list field of that record.
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
            guard let wanted = principal.attribute(attribute) else { return false }
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

extension RowRule {
    /// The fields of the row itself that the rule looks at, each once.
    public var fields: [FieldName] {
        switch self {
        case .everyone, .nobody, .hasRole, .signedIn: []
        case .owner(let field), .sharedWith(let field), .attributeEquals(let field, _), .fieldIsOneOf(let field, _),
            .memberOf(_, let field, _):
            [field]
        case .not(let rule): rule.fields
        case .any(let rules), .all(let rules):
            rules.flatMap(\.fields).reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
        }
    }
}

extension [CollectionDeclaration] {
    /// The fields of a collection whose earlier values the log has to keep: those that its own read rule looks at,
    /// those by which its records tell who may read others (the members of a group), and those that it declares.
    public func scopeFields(of id: CollectionID) -> [FieldName] {
        let own = first { $0.id == id }.map { $0.entity.rows.read.fields } ?? []
        let asGroup = filter { $0.id.adapter == id.adapter }.flatMap { declaration in
            declaration.entity.rows.read.groups.filter { $0.entity == id.entity }.map(\.members)
        }
        let declared = first { $0.id == id }?.entity.historyFields ?? []
        return (own + asGroup + declared).reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }
}

/// A number for a sequence of texts that is the same in every run: FNV-1a, its bits mixed at the end.
package struct StableHash {
    private var hash: UInt64 = 0xCBF2_9CE4_8422_2325

    package init() {}

    package mutating func add(_ text: String) {
        for byte in text.utf8 { add(byte) }
        add(0)
    }

    package var value: UInt64 {
        var mixed = (hash ^ (hash >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    private mutating func add(_ byte: UInt8) { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
}

extension StableHash {
    /// The kinds of filter that row rules become; nil: every row.
    package mutating func add(_ filter: Filter?) {
        guard let filter else { return add("everything") }
        switch filter {
        case .compare(let field, let comparison, let value): add("compare", field, comparison.rawValue, value)
        case .listContains(let field, let value): add("contains", field, "", value)
        case .oneOf(let field, let values): add("oneOf", field, "", .array(values))
        case .related(let field, let entity, let inner):
            add("related", field, entity.text, .null)
            add(inner)
        case .all(let parts): add("all", parts)
        case .any(let parts): add("any", parts)
        case .not(let part): add("not", [part])
        case .isNull, .hasPrefix, .hasSuffix, .containsText, .search: add("\(filter)")
        }
    }

    private mutating func add(_ kind: String, _ field: FieldName, _ detail: String, _ value: WireValue) {
        add(kind)
        add(field.text)
        add(detail)
        add("\(value)")
    }

    private mutating func add(_ kind: String, _ parts: [Filter]) {
        add("\(kind) \(parts.count)")
        for part in parts { add(part) }
    }
}
