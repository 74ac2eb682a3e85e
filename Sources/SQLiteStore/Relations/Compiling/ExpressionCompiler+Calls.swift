import AdapterKit

// Functions: what SQLite has as it has it, the rest by functions of ours on the connection.
extension ExpressionCompiler {
    func call(_ function: RowFunction, _ arguments: [RowExpression]) throws(PorticoError) -> TypedSQL {
        let signature = function.signature
        guard let values = signature.fitted(try all(arguments)) else {
            throw Self.invalid("\(function.rawValue) does not take such values.")
        }
        if function == .startsWith, case .value(.string(let prefix)) = arguments[1] {
            return TypedSQL(Self.hasPrefix(prefix, values[0].fragment), .bool)
        }
        if function == .matches, case .value(.string(let pattern)) = arguments[1], Pattern.compiled(pattern) == nil {
            throw Self.invalid("The pattern is none that can be searched for.")
        }
        let kind = signature.result ?? values[0].kind
        let parts = values.map(\.fragment)
        switch function {
        case .contains: return TypedSQL(.build("(instr($, $) > 0)", parts), kind)
        case .length: return TypedSQL(.build("length($)", parts), kind)
        case .indexOf: return TypedSQL(.build("(instr($, $) - 1)", parts), kind)
        case .concatenate: return TypedSQL(.balanced(parts, " || "), kind)
        case .bits: return TypedSQL(.build("($ & $)", parts), kind)
        case .negate where kind != .decimal: return TypedSQL(.build("(-$)", parts), kind)
        case .round, .floor, .ceiling: return rounded(function, values[0])
        case .toInteger, .toDouble, .toDecimal, .toText, .toDate: return converted(values[0], to: kind)
        default: return TypedSQL(.build("portico_\(function.rawValue)($)", [.list(parts)]), kind)
        }
    }

    private func rounded(_ function: RowFunction, _ value: TypedSQL) -> TypedSQL {
        guard value.kind == .double || value.kind == .decimal else { return value }
        let kind = value.kind?.rawValue ?? ""
        return TypedSQL(.build("portico_\(kind)_\(function.rawValue)($)", [value.fragment]), value.kind)
    }

    private func converted(_ value: TypedSQL, to kind: RowKind?) -> TypedSQL {
        guard let from = value.kind, let kind, from != kind else { return TypedSQL(value.fragment, kind) }
        return TypedSQL(.build("portico_to_\(kind.rawValue)('\(from.rawValue)', $)", [value.fragment]), kind)
    }

    /// A range, so that an index is used.
    private static func hasPrefix(_ prefix: String, _ text: SQLFragment) -> SQLFragment {
        guard let last = prefix.utf8.last else { return .build("(instr($, '') > 0)", [text]) }
        let end = Array(prefix.utf8.dropLast()) + [last + 1]
        return .build(
            "($ >= $ AND $ < $)",
            [text, SQLFragment("?", [.text(prefix)]), text, SQLFragment("?", [.textBytes(end)])])
    }
}
