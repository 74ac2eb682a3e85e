import AdapterKit
import Identity

/// The rows of an entity that belong to one account, and those among them that no other account reaches, by the entity's
/// row rules. Who has a role sees rows of many accounts, and is not counted among them.
struct AccountRows {
    /// The field that holds the owner's name.
    let owner: FieldName
    private let rules: RowRules

    /// Nil where the write rule of the entity names no owner: what an account may only read was not left to it. Changes that wait
    /// for another system are such rows.
    init?(of entity: Entity) {
        guard let owner = Self.owner(in: entity.rows.write) else { return nil }
        self.owner = owner
        rules = entity.rows
    }

    /// A filter of the rows of the account of that name.
    func filter(for name: AccountName) -> Filter { .compare(owner, .equal, .string(name.text)) }

    /// Whether no other account reaches a row of the account.
    func belongsAlone(_ row: Record, to name: AccountName) -> Bool {
        !reachesOthers(rules.read, row, name.text) && !reachesOthers(rules.write, row, name.text)
    }

    private static func owner(in rule: RowRule) -> FieldName? {
        switch rule {
        case .owner(let field): field
        case .any(let rules), .all(let rules): rules.lazy.compactMap(owner).first
        default: nil
        }
    }

    /// Where a row does not say who else is meant, others are.
    private func reachesOthers(_ rule: RowRule, _ row: Record, _ name: String) -> Bool {
        switch rule {
        case .nobody, .hasRole: false
        case .everyone, .signedIn, .attributeEquals, .memberOf, .not: true
        case .owner(let field): !row[field].isNull && row[field].stringValue != name
        case .sharedWith(let field): row[field].arrayValue?.contains { $0.stringValue != name } ?? false
        case .fieldIsOneOf(let field, let values): values.contains(row[field])
        case .any(let rules): rules.contains { reachesOthers($0, row, name) }
        case .all(let rules): rules.allSatisfy { reachesOthers($0, row, name) }
        }
    }
}
