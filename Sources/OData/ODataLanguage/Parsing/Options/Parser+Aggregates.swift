/// `aggregateExpr` of `$apply`, and the same without a name as `/aggregate(…)` inside expressions.
extension Parser {
    mutating func aggregateExpression(aliased: Bool) throws(Mismatch) -> AggregateExpression {
        let start = at
        let value = try aggregatedValue()
        let isCount = value.endsInCount
        let method = isCount ? nil : try aggregationMethod()
        let from = try aggregationSteps(afterMethod: method != nil || isCount)
        let name = aliased ? try aggregateAlias(value, method: method, from: from) : nil
        return AggregateExpression(value, method: method, from: from, name: name, range: range(from: start))
    }

    /// `$count`, or an expression that may be a path alone or even a type.
    private mutating func aggregatedValue() throws(Mismatch) -> Expression {
        let start = at
        if skip(word: "$count", ignoringCase: false) {
            let range = range(from: start)
            return Expression(.path(MemberPath([PathSegment(.count([]), range)], range)), range)
        }
        let before = allowsBareType
        allowsBareType = true
        defer { allowsBareType = before }
        return try expression()
    }

    /// `RWS "with" RWS method`
    private mutating func aggregationMethod() throws(Mismatch) -> WrittenName? {
        try attempt { parser throws(Mismatch) in
            try parser.expectSpace()
            try parser.expect(word: "with", ignoringCase: false)
            try parser.expectSpace()
            let start = parser.at
            let method = try parser.optionallyQualifiedName()
            let builtIn = ["sum", "min", "max", "average", "countdistinct"]
            guard method.namespace != nil || builtIn.contains(method.name) else {
                parser.at = start
                throw parser.mismatch("a method")
            }
            return method
        }
    }

    /// `from …` any number of times. Behind a method each needs one of its own; a custom aggregate brings its own.
    private mutating func aggregationSteps(afterMethod: Bool) throws(Mismatch) -> [AggregateFrom] {
        var steps: [AggregateFrom] = []
        while let properties = try attempt({ parser throws(Mismatch) in
            try parser.expectSpace()
            try parser.expect(word: "from", ignoringCase: false)
            try parser.expectSpace()
            return try parser.commaSeparated { parser throws(Mismatch) in try parser.namePath(endingInType: false) }
        }) {
            let method = try aggregationMethod()
            guard method != nil || !afterMethod else {
                try expectSpace()
                throw mismatch("`with`")
            }
            steps.append(AggregateFrom(properties, method: method))
        }
        return steps
    }

    /// The name of the result, which only a custom aggregate can do without.
    private mutating func aggregateAlias(
        _ value: Expression, method: WrittenName?, from: [AggregateFrom]
    ) throws(Mismatch) -> String? {
        if method != nil || value.endsInCount || !from.isEmpty { return try alias().0 }
        guard value.isNamePath else {
            try expectSpace()
            throw mismatch("`with`")
        }
        return try attempt { parser throws(Mismatch) in try parser.alias().0 }
    }
}

extension Expression {
    /// Whether it is a path whose last segment is `$count`.
    fileprivate var endsInCount: Bool {
        if case .path(let path) = form, case .count? = path.segments.last?.form { true } else { false }
    }

    fileprivate var isNamePath: Bool {
        if case .path(let path) = form {
            path.start == .current && path.segments.allSatisfy { $0.name != nil }
        } else {
            false
        }
    }
}
