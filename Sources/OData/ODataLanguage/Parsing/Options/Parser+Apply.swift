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
