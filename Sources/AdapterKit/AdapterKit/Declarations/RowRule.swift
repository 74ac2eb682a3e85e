/// Which rows of an entity a principal may see, and which it may change.
public struct RowRules: Sendable, Equatable {
    /// The rows that may be read.
    public let read: RowRule
    /// The rows that may be changed: the rule holds before and after the change.
    public let write: RowRule

    /// Creates row rules with these values.
    public init(read: RowRule, write: RowRule) {
        self.read = read
        self.write = write
    }

    /// No restriction beyond the adapter's access.
    public static let everyone = RowRules(read: .everyone, write: .everyone)
}

/// A condition on a row and a principal. It becomes a filter of every query, through every interface.
public indirect enum RowRule: Sendable, Equatable {
    /// Every caller.
    case everyone
    /// No caller.
    case nobody
    /// The field holds the principal's account name.
    case owner(FieldName)
    /// The list field holds the principal's account name.
    case sharedWith(FieldName)
    /// The field equals the principal's attribute of that name; a principal without it sees nothing.
    case attributeEquals(FieldName, attribute: String)
    /// Every caller but an anonymous one.
    case signedIn
    /// A caller with this role.
    case hasRole(RoleName)
    /// The field holds one of these values, for every caller; with the others, for rows that differ in who may see them.
    case fieldIsOneOf(FieldName, [WireValue])
    /// `field` holds the id of a record of `entity` whose list field `members` holds the principal's account name.
    case memberOf(EntityName, through: FieldName, members: FieldName)
    /// The rows that the rule leaves out.
    case not(RowRule)
    /// Rows for which at least one of the rules holds; none for no rules.
    case any([RowRule])
    /// Rows for which all of the rules hold; every row for no rules.
    case all([RowRule])
}

extension RowRule {
    /// The rows that `principal` may reach; nil where that is every row.
    public func filter(for principal: Principal) -> Filter? {
        switch self {
        case .everyone: nil
        case .nobody: .never
        case .owner(let field): .compare(field, .equal, .string(principal.name))
        case .sharedWith(let field): .listContains(field, .string(principal.name))
        case .attributeEquals(let field, let attribute):
            principal.attribute(attribute).map { .compare(field, .equal, .string($0)) } ?? .never
        case .signedIn: principal.isAnonymous ? .never : nil
        case .fieldIsOneOf(let field, let values): .oneOf(field, values)
        case .hasRole(let role): principal.roles.contains(role) ? nil : .never
        case .memberOf(let entity, let field, let members):
            .related(field, entity, .listContains(members, .string(principal.name)))
        case .not(let rule): rule.filter(for: principal).map(Filter.not) ?? .never
        case .any(let rules): Self.anyOf(rules.map { $0.filter(for: principal) })
        case .all(let rules): Self.allOf(rules.map { $0.filter(for: principal) })
        }
    }

    private static func anyOf(_ filters: [Filter?]) -> Filter? {
        let restricting = filters.compactMap { $0 }
        return restricting.count < filters.count ? nil : .any(restricting)
    }

    private static func allOf(_ filters: [Filter?]) -> Filter? {
        let restricting = filters.compactMap { $0 }
        return restricting.isEmpty ? nil : .all(restricting)
    }
}

extension RowRule {
    /// The groups that the caller must be a member of, whatever else holds.
    var requiredGroups: Set<ParentReference> {
        switch self {
        case .memberOf(let entity, let field, _): [ParentReference(field, in: entity)]
        case .all(let rules): rules.reduce(into: []) { $0.formUnion($1.requiredGroups) }
        default: []
        }
    }

    /// The groups that the rule asks about anywhere.
    var anyGroups: Set<ParentReference> {
        switch self {
        case .memberOf(let entity, let field, _): [ParentReference(field, in: entity)]
        case .not(let rule): rule.anyGroups
        case .any(let rules), .all(let rules): rules.reduce(into: []) { $0.formUnion($1.anyGroups) }
        default: []
        }
    }

    var looksAtRows: Bool {
        switch self {
        case .everyone, .nobody, .signedIn, .hasRole: false
        case .owner, .sharedWith, .attributeEquals, .fieldIsOneOf, .memberOf: true
        case .not(let rule): rule.looksAtRows
        case .any(let rules), .all(let rules): rules.contains(where: \.looksAtRows)
        }
    }
}
