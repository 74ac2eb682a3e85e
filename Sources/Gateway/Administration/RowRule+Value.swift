import AdapterKit
import ValueTree

extension RowRule {
    /// As an operator reads it: a word, or a rule's name with what it compares.
    var value: WireValue {
        switch self {
        case .everyone: "everyone"
        case .nobody: "nobody"
        case .signedIn: "signedIn"
        case .owner(let field): ["owner": .string(field.text)]
        case .sharedWith(let field): ["sharedWith": .string(field.text)]
        case .attributeEquals(let field, let attribute):
            ["attributeEquals": ["field": .string(field.text), "attribute": .string(attribute)]]
        case .hasRole(let role): ["hasRole": .string(role.text)]
        case .fieldIsOneOf(let field, let values):
            ["fieldIsOneOf": ["field": .string(field.text), "values": .array(values)]]
        case .memberOf(let entity, let field, let members):
            [
                "memberOf": [
                    "entity": .string(entity.text), "through": .string(field.text), "members": .string(members.text),
                ]
            ]
        case .not(let rule): ["not": rule.value]
        case .any(let rules): ["any": .array(rules.map(\.value))]
        case .all(let rules): ["all": .array(rules.map(\.value))]
        }
    }
}
