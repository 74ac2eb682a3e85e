/// Paths inside expressions: `firstMemberExpr`, `rootExpr` and what follows them, section 4 of the ABNF.
extension Parser {
    mutating func memberPath() throws(Mismatch) -> MemberPath {
        let first = at
        var segments: [PathSegment] = []
        let start = try pathStart(&segments)
        while skip("/") {
            try memberSegment(into: &segments)
        }
        note("`/`", at: at)
        return MemberPath(start, segments, range(from: first))
    }

    private mutating func pathStart(_ segments: inout [PathSegment]) throws(Mismatch) -> MemberPath.Start {
        switch peek() {
        case UInt8(ascii: "$"): return try dollarStart(&segments)
        case UInt8(ascii: "@"):
            let start = at
            let name = try annotationName()
            if name.term.namespace == nil, name.qualifier == nil { return .alias(name.term.name) }
            segments.append(PathSegment(.annotation(name), range(from: start)))
            return .current
        default:
            try nameSegment(into: &segments, isFirst: true)
            return .current
        }
    }

    private mutating func dollarStart(_ segments: inout [PathSegment]) throws(Mismatch) -> MemberPath.Start {
        if skip(word: "$it", ignoringCase: false) { return .it }
        if skip(word: "$these", ignoringCase: false) {
            guard peek() == UInt8(ascii: "/") else { throw mismatch("`/`") }
            return .these
        }
        if skip(word: "$this", ignoringCase: false) { return .this }
        try expect(word: "$root/", ignoringCase: false)
        try nameSegment(into: &segments, isFirst: false)
        return .root
    }

    private mutating func memberSegment(into segments: inout [PathSegment]) throws(Mismatch) {
        try countNode()
        let start = at
        switch peek() {
        case UInt8(ascii: "@"):
            segments.append(PathSegment(.annotation(try annotationName()), range(from: start)))
        case UInt8(ascii: "$"):
            let form = try dollarSegment()
            segments.append(PathSegment(form, range(from: start)))
            if case .filter = form { try argumentSegments(into: &segments) }
        default:
            if let form = try lambdaOrAggregate() {
                segments.append(PathSegment(form, range(from: start)))
            } else {
                try nameSegment(into: &segments, isFirst: false)
            }
        }
    }

    private mutating func dollarSegment() throws(Mismatch) -> PathSegment.Form {
        if skip(word: "$count", ignoringCase: false) {
            guard peek() == UInt8(ascii: "(") else { return .count([]) }
            return .count(try nestedOptions(.ofCount))
        }
        try expect(word: "$filter", ignoringCase: false)
        try expect("(")
        skipSpace()
        let condition = try expression()
        try close()
        return .filter(condition)
    }

    /// `any(…)`, `all(…)` and `aggregate(…)`
    private mutating func lambdaOrAggregate() throws(Mismatch) -> PathSegment.Form? {
        let start = at
        if skip(word: "any"), skip("(") {
            skipSpace()
            if skip(")") { return .any(nil) }
            return .any(try lambda())
        }
        at = start
        if skip(word: "all"), skip("(") {
            skipSpace()
            return .all(try lambda())
        }
        at = start
        if skip(word: "aggregate", ignoringCase: false), skip("(") {
            skipSpace()
            let value = try aggregateExpression(aliased: false)
            try close()
            return .aggregate(value)
        }
        at = start
        return nil
    }

    /// `variable : condition )`
    private mutating func lambda() throws(Mismatch) -> Lambda {
        let variable = try identifier()
        skipSpace()
        try expect(":")
        skipSpace()
        let condition = try expression()
        try close()
        return Lambda(variable: variable, condition: condition)
    }

    /// `anyExpr` or `allExpr` alone.
    mutating func lambdaAlone(_ word: StaticString) throws(Mismatch) -> PathSegment {
        let start = at
        try expect(word: word)
        guard peek() == UInt8(ascii: "(") else { throw mismatch("`(`") }
        at = start
        guard let form = try lambdaOrAggregate() else { throw mismatch("`\(word)(`") }
        return PathSegment(form, range(from: start))
    }

    /// A name and the parentheses behind it.
    private mutating func nameSegment(into segments: inout [PathSegment], isFirst: Bool) throws(Mismatch) {
        let start = at
        let name = try optionallyQualifiedName()
        try countNode()
        segments.append(PathSegment(.name(name), range(from: start)))
        let word = name.name.lowercased()
        // `any` and `all` need a path before them, so that at the start they are no call.
        if isFirst, name.namespace == nil, ["any", "all", "aggregate"].contains(word) {
            note("a path before it", at: at)
            return
        }
        if isFirst, name.namespace != nil, endsWithType { throw mismatch("`(` or `/`") }
        try argumentSegments(into: &segments)
    }

    /// Whether a path that begins with a qualified name ends with it, which only a function's call may.
    private var endsWithType: Bool {
        guard !allowsBareType else { return false }
        guard let next = peek() else { return true }
        return next != UInt8(ascii: "(") && next != UInt8(ascii: "/")
    }

    private mutating func argumentSegments(into segments: inout [PathSegment]) throws(Mismatch) {
        while peek() == UInt8(ascii: "(") {
            let start = at
            let arguments = try nested { parser throws(Mismatch) in try parser.arguments(.expressions) }
            segments.append(PathSegment(.arguments(arguments), range(from: start)))
        }
    }
}
