/// Rules that are one of several that the parser reads alike: the text must be of that one.
extension Parser {
    /// An expression of one form; an operator's left side may be what begins it.
    mutating func expression(
        _ expected: String, _ fits: (Expression.Form) -> Bool
    ) throws(Mismatch) -> Expression {
        let start = at
        let expression = try expression()
        var first = expression
        while case .binary(_, let left, _) = first.form { first = left }
        guard fits(first.form) else { throw noValue(expected, from: start) }
        return expression
    }

    mutating func memberPath(_ expected: String, _ fits: (MemberPath) -> Bool) throws(Mismatch) -> MemberPath {
        let start = at
        let path = try memberPath()
        guard fits(path) else { throw noValue(expected, from: start) }
        return path
    }

    /// One of these header fields.
    mutating func header(_ names: [StaticString]) throws(Mismatch) {
        let start = at
        if !names.contains(where: { skip(word: $0) }) { try expect(word: names[0]) }
        at = start
        try header()
    }

    /// One preference, with or without `odata.` before it.
    mutating func preference(_ name: StaticString, hasPrefix: Bool = true) throws(Mismatch) {
        let start = at
        if hasPrefix { _ = skip(word: "odata.") }
        try expect(word: name)
        at = start
        try preference()
    }
}

extension Expression.Form {
    var isCall: Bool {
        switch self {
        case .call, .cast, .isOf, .choice: true
        default: false
        }
    }

    var isNot: Bool { if case .not = self { true } else { false } }
    var isNegated: Bool { if case .negated = self { true } else { false } }
    var isCast: Bool { if case .cast = self { true } else { false } }
    var isTypeTest: Bool { if case .isOf = self { true } else { false } }
    var isDefinition: Bool { if case .isDefined = self { true } else { false } }
}
