import ODataLanguage

/// Which properties an expression looks at, by their paths from what it is evaluated on.
struct PropertyUses {
    struct Use {
        /// `Address/City`
        let path: String
        let range: SourceRange

        /// Whether it is the property of that path or inside of it.
        func isOf(_ property: String) -> Bool { path == property || path.hasPrefix("\(property)/") }
    }

    private(set) var all: [Use] = []
    private var aliases: [String: Expression]

    init(of expression: Expression, aliases: [String: Expression]) {
        self.aliases = aliases
        add(expression, variables: [])
    }

    private mutating func add(_ expression: Expression, variables: Set<String>) {
        switch expression.form {
        case .literal: return
        case .path(let path), .isDefined(let path): add(path, variables)
        case .list(let items), .array(let items), .call(_, let items):
            for item in items { add(item, variables: variables) }
        case .object(let members): for member in members { add(member.value, variables: variables) }
        case .choice(let branches):
            for branch in branches {
                add(branch.condition, variables: variables)
                add(branch.value, variables: variables)
            }
        case .cast(let inner, _), .isOf(let inner, _): if let inner { add(inner, variables: variables) }
        case .not(let inner), .negated(let inner): add(inner, variables: variables)
        case .binary(_, let left, let right):
            add(left, variables: variables)
            add(right, variables: variables)
        }
    }

    private mutating func add(_ path: MemberPath, _ variables: Set<String>) {
        if case .alias(let name) = path.start, let value = aliases.removeValue(forKey: name) {
            add(value, variables: variables)
        }
        var names: [String] = []
        for segment in path.segments {
            switch segment.form {
            case .name(let name) where name.namespace == nil: names.append(name.name)
            case .any(let lambda?), .all(let lambda):
                add(lambda.condition, variables: variables.union([lambda.variable]))
            default: continue
            }
        }
        guard let first = names.first, Self.isHere(path.start), !variables.contains(first) else { return }
        all.append(Use(path: names.joined(separator: "/"), range: path.range))
    }

    private static func isHere(_ start: MemberPath.Start) -> Bool {
        switch start {
        case .current, .it, .this: true
        case .these, .root, .alias: false
        }
    }
}
