import AdapterKit

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
