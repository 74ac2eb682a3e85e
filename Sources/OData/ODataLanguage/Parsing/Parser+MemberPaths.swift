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

/// `stringInUrl`: a JSON string as it may stand in a URL, section 5 of the ABNF.
extension Parser {
    mutating func stringInURL() throws(Mismatch) -> String {
        try expect("\"")
        try countNode()
        var text: [UInt8] = []
        while let byte = peek(), byte != UInt8(ascii: "\"") {
            if byte == UInt8(ascii: "\\") {
                text += Array(String(try escaped()).utf8)
            } else {
                guard byte >= 0x20 else { throw mismatch("no control character") }
                text.append(byte)
                at += 1
            }
        }
        try expect("\"")
        guard let string = String(validating: text, as: UTF8.self) else { throw mismatch("a text in UTF-8") }
        return string
    }

    private mutating func escaped() throws(Mismatch) -> Unicode.Scalar {
        at += 1
        guard let letter = peek() else { throw mismatch("an escape") }
        let plain: [UInt8: Unicode.Scalar] = [
            UInt8(ascii: "\""): "\"", UInt8(ascii: "\\"): "\\", UInt8(ascii: "/"): "/", UInt8(ascii: "b"): "\u{8}",
            UInt8(ascii: "f"): "\u{C}", UInt8(ascii: "n"): "\n", UInt8(ascii: "r"): "\r", UInt8(ascii: "t"): "\t",
        ]
        if let scalar = plain[letter] {
            at += 1
            return scalar
        }
        guard letter == UInt8(ascii: "u") else { throw mismatch("an escape") }
        at += 1
        return try scalar()
    }

    /// Four hexadecimal digits, or eight of a surrogate pair.
    private mutating func scalar() throws(Mismatch) -> Unicode.Scalar {
        let unit = try codeUnit()
        if let scalar = Unicode.Scalar(unit) { return scalar }
        guard UTF16.isLeadSurrogate(unit), skip("\\"), skip("u") else { throw mismatch("a surrogate pair") }
        let trail = try codeUnit()
        guard UTF16.isTrailSurrogate(trail) else { throw mismatch("a surrogate pair") }
        let value = 0x10000 + (UInt32(unit) - 0xD800) << 10 + (UInt32(trail) - 0xDC00)
        guard let scalar = Unicode.Scalar(value) else { throw mismatch("a character") }
        return scalar
    }

    private mutating func codeUnit() throws(Mismatch) -> UInt16 {
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard let digit = peek()?.hexDigit else { throw mismatch("a hexadecimal digit") }
            unit = unit << 4 | UInt16(digit)
            at += 1
        }
        return unit
    }
}
