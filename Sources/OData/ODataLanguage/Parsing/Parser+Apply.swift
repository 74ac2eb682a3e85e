/// `$apply`, OData Extension for Data Aggregation 4.0 and its ABNF.
extension Parser {
    /// `applyExpr`
    mutating func transformations() throws(Mismatch) -> [Transformation] {
        try nested { parser throws(Mismatch) in
            var steps = [try parser.transformation()]
            while parser.skip("/") { steps.append(try parser.transformation()) }
            parser.note("`/`", at: parser.at)
            return steps
        }
    }

    private mutating func transformation() throws(Mismatch) -> Transformation {
        try countNode()
        let start = at
        while let byte = peek(), byte.isLetter { at += 1 }
        let word = (text(start, at) ?? "").lowercased()
        if word == "identity", peek() != UInt8(ascii: "."), peek() != UInt8(ascii: "(") { return .identity }
        guard peek() == UInt8(ascii: "("), Transformation.names.contains(word) else {
            at = start
            return try customTransformation()
        }
        at += 1
        skipSpace()
        let step = try step(word)
        try close()
        return step
    }

    private mutating func step(_ word: String) throws(Mismatch) -> Transformation {
        switch word {
        case "aggregate":
            return .aggregate(
                try commaSeparated { parser throws(Mismatch) in try parser.aggregateExpression(aliased: true) })
        case "compute": return .compute(try computeItems())
        case "concat": return .concat(try severalTransformations())
        case "groupby": return try groupBy()
        case "filter": return .filter(try expression())
        case "search": return .search(try search())
        case "orderby": return .orderBy(try orderItems())
        case "top": return .top(try digits())
        case "skip": return .skip(try digits())
        case "nest": return .nest(try nestedApplies())
        case "addnested": return try addNested()
        case "join", "outerjoin": return try join(outer: word == "outerjoin")
        case "ancestors", "descendants", "traverse": return .hierarchy(try hierarchyStep(word))
        default: return try ranked(word)
        }
    }

    private mutating func severalTransformations() throws(Mismatch) -> [[Transformation]] {
        let all = try commaSeparated { parser throws(Mismatch) in try parser.transformations() }
        guard all.count > 1 else { throw mismatch("`,`") }
        return all
    }

    private mutating func ranked(_ word: String) throws(Mismatch) -> Transformation {
        guard let ranking = Transformation.Ranking(rawValue: word) else { throw mismatch("a transformation") }
        let amount = try expression()
        try comma()
        return .ranked(ranking, amount: amount, by: try expression())
    }

    mutating func comma() throws(Mismatch) {
        guard skipComma() else {
            skipSpace()
            throw mismatch("`,`")
        }
    }

    private mutating func nestedApplies() throws(Mismatch) -> [NestedApply] {
        try commaSeparated { parser throws(Mismatch) in
            let steps = try parser.transformations()
            let (name, range) = try parser.alias()
            return NestedApply(steps, name: name, at: range)
        }
    }

    private mutating func addNested() throws(Mismatch) -> Transformation {
        let path = try namePath()
        try comma()
        return .addNested(path, try nestedApplies())
    }

    private mutating func join(outer: Bool) throws(Mismatch) -> Transformation {
        let path = try peek() == UInt8(ascii: "@") ? memberPath() : namePath()
        let name = try alias().0
        let steps = skipComma() ? try transformations() : []
        return .join(path, alias: name, then: steps, outer: outer)
    }

    /// `customFunction`: a function of some schema, with its parameters.
    private mutating func customTransformation() throws(Mismatch) -> Transformation {
        let start = at
        let name = try qualifiedName()
        let nameSegment = PathSegment(.name(name), range(from: start))
        let parenthesis = at
        let arguments = PathSegment(.arguments(try arguments(.expressions)), range(from: parenthesis))
        return .custom(MemberPath([nameSegment, arguments], range(from: start)))
    }

    /// Names joined by `/`, as in `groupby`: no keys, calls or annotations.
    mutating func namePath(endingInType: Bool = true) throws(Mismatch) -> MemberPath {
        let start = at
        var segments: [PathSegment] = []
        repeat {
            let segment = at
            try countNode()
            segments.append(PathSegment(.name(try optionallyQualifiedName()), range(from: segment)))
        } while skip("/")
        if !endingInType, segments.last?.name?.namespace != nil { throw mismatch("`/`") }
        note("`/`", at: at)
        return MemberPath(segments, range(from: start))
    }
}

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

/// `groupby`, `rollup` and the hierarchies of `$apply`.
extension Parser {
    mutating func groupBy() throws(Mismatch) -> Transformation {
        try expect("(")
        skipSpace()
        let elements = try commaSeparated { parser throws(Mismatch) in try parser.groupingElement() }
        try close()
        let then = skipComma() ? try transformations() : []
        return .groupBy(elements, then: then)
    }

    private mutating func groupingElement() throws(Mismatch) -> GroupingElement {
        if skip(word: "rolluprecursive(", ignoringCase: false) {
            skipSpace()
            let reference = try hierarchyReference()
            let steps = skipComma() ? try transformations() : []
            try close()
            return .rollupRecursive(reference, steps)
        }
        if skip(word: "rollup(", ignoringCase: false) {
            skipSpace()
            let paths = try commaSeparated { parser throws(Mismatch) in try parser.namePath(endingInType: false) }
            try close()
            return .rollup(paths)
        }
        return .property(try namePath(endingInType: false))
    }

    /// `recHierReference`: nodes, qualifier and the property that names a node.
    mutating func hierarchyReference() throws(Mismatch) -> HierarchyReference {
        guard peek() == UInt8(ascii: "$") else { throw mismatch("`$root/`") }
        let root = try memberPath()
        try comma()
        let qualifier = try identifier()
        try comma()
        return HierarchyReference(root: root, qualifier: qualifier, nodeProperty: try namePath())
    }

    mutating func hierarchyStep(_ word: String) throws(Mismatch) -> HierarchyStep {
        let reference = try hierarchyReference()
        if word == "traverse" { return try traversal(reference) }
        try comma()
        var steps = [try transformations()]
        var distance: String?
        var keepStart = false
        while skipComma() {
            if distance == nil, !keepStart, let number = try attempt({ parser throws(Mismatch) in try parser.digits() })
            {
                distance = number
            } else if !keepStart, skip(word: "keep start", ignoringCase: false) {
                keepStart = true
            } else if steps.count == 1, distance == nil, !keepStart {
                steps.append(try transformations())
            } else {
                throw mismatch("`)`")
            }
        }
        return word == "ancestors"
            ? .ancestors(reference, steps, distance: distance, keepStart: keepStart)
            : .descendants(reference, steps, distance: distance, keepStart: keepStart)
    }

    private mutating func traversal(_ reference: HierarchyReference) throws(Mismatch) -> HierarchyStep {
        try comma()
        let postorder = skip(word: "postorder", ignoringCase: false)
        if !postorder { try expect(word: "preorder", ignoringCase: false) }
        var start: [Transformation] = []
        var order: [OrderItem] = []
        if skipComma() {
            start = try attempt { parser throws(Mismatch) in try parser.transformations() } ?? []
            if start.isEmpty { order = try orderItems() } else if skipComma() { order = try orderItems() }
        }
        return .traverse(reference, postorder: postorder, start: start, order: order)
    }
}
