import ODataLanguage

/// Holds a filter to the expressions that the model allows of a property (Capabilities vocabulary,
/// `FilterExpressionRestrictions`): parts that must all be true, one value, several values, or one range.
struct FilterExpressionCheck {
    let source: String
    /// By the property's path: `SingleValue`, `MultiValue` or `SingleRange`.
    let allowed: [String: String]
    let aliases: [String: Expression]

    func check(_ filter: Expression) throws(QueryProblem) {
        guard !allowed.isEmpty else { return }
        let parts = Self.parts(filter, of: .and)
        for (name, kind) in allowed.sorted(by: { $0.key < $1.key }) {
            let own = parts.filter { looks(at: name, $0) }
            guard let first = own.first, !isAllowed(own, name, kind) else { continue }
            throw QueryProblem("\(source) is filtered by \(name) with \(Self.words(kind)) only.", at: first.range)
        }
    }

    private static func words(_ kind: String) -> String {
        switch kind {
        case "SingleValue": "one value"
        case "MultiValue": "values"
        default: "one range"
        }
    }

    private func isAllowed(_ parts: [Expression], _ name: String, _ kind: String) -> Bool {
        switch kind {
        case "SingleValue": parts.count == 1 && comparison(parts[0], name) == .equal
        case "MultiValue": parts.count == 1 && Self.parts(parts[0], of: .or).allSatisfy { isValues($0, name) }
        case "SingleRange":
            {
                let comparisons = parts.map { comparison($0, name) }
                if comparisons == [.equal] { return true }
                return !comparisons.contains(nil) && !comparisons.contains(.equal)
                    && Set(comparisons).count == comparisons.count
            }()
        default: true
        }
    }

    private enum Side { case equal, above, below }

    /// How the part compares the property with something else; nil where it does anything else.
    private func comparison(_ part: Expression, _ name: String) -> Side? {
        guard case .binary(let operation, let left, let right) = part.form else { return nil }
        let isLeft = isProperty(left, name)
        guard isLeft ? !looks(at: name, right) : isProperty(right, name) && !looks(at: name, left) else { return nil }
        switch operation {
        case .equal: return .equal
        case .greater, .greaterOrEqual: return isLeft ? .above : .below
        case .less, .lessOrEqual: return isLeft ? .below : .above
        default: return nil
        }
    }

    private func isValues(_ part: Expression, _ name: String) -> Bool {
        if case .binary(.isIn, let left, let right) = part.form {
            return isProperty(left, name) && !looks(at: name, right)
        }
        return comparison(part, name) == .equal
    }

    private func isProperty(_ expression: Expression, _ name: String) -> Bool {
        guard case .path = expression.form else { return false }
        return PropertyUses(of: expression, aliases: aliases).all.contains { $0.path == name }
    }

    private func looks(at name: String, _ expression: Expression) -> Bool {
        PropertyUses(of: expression, aliases: aliases).all.contains { $0.isOf(name) }
    }

    private static func parts(_ expression: Expression, of connective: BinaryOperator) -> [Expression] {
        guard case .binary(connective, let left, let right) = expression.form else { return [expression] }
        return parts(left, of: connective) + parts(right, of: connective)
    }
}
