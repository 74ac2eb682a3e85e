import ODataLanguage
import Testing

/// The tree of a text under a rule, as the type that the rule gives.
func parsed<T>(_ rule: String, _ text: String, as type: T.Type = T.self) throws -> T {
    let rule = try #require(GrammarRule(named: rule))
    return try #require(try rule.tree(of: text) as? T)
}

func expression(_ text: String) throws -> Expression { try parsed("commonExpr", text) }

/// Where a text goes wrong; nil where it does not.
func failure(_ rule: String, _ text: String, limits: LanguageLimits = LanguageLimits()) throws -> Int? {
    let rule = try #require(GrammarRule(named: rule))
    do {
        _ = try rule.tree(of: text, limits: limits)
        return nil
    } catch {
        return error.position
    }
}

extension Expression {
    /// The expression with every operator's operands in parentheses.
    var grouped: String {
        switch form {
        case .binary(let found, let left, let right): "(\(left.grouped) \(found.rawValue) \(right.grouped))"
        case .not(let inner): "(not \(inner.grouped))"
        case .negated(let inner): "(- \(inner.grouped))"
        case .path(let path): path.segments.map { $0.name?.description ?? "…" }.joined(separator: "/")
        case .literal(.number(let digits, _)): digits
        case .literal(.string(let text)): "'\(text)'"
        case .literal(.boolean(let value)): "\(value)"
        case .list(let items): "[\(items.map(\.grouped).joined(separator: ","))]"
        default: "?"
        }
    }
}
