/// `resourcePath`, section 1 of the ABNF: names, keys, calls and the segments that begin with `$`.
extension Parser {
    mutating func resourcePath() throws(Mismatch) -> RequestTarget.Resource {
        let outside = isInPath
        isInPath = true
        defer { isInPath = outside }
        if peek() == UInt8(ascii: "$"), !isVersion2 { return try dollarResource() }
        var segments: [PathSegment] = []
        let start = at
        let name = try identifier()
        segments.append(PathSegment(.name(WrittenName(nil, name)), range(from: start)))
        try parentheses(into: &segments)
        try isVersion2 ? version2Segments(into: &segments) : pathSegments(into: &segments)
        return .path(segments)
    }

    /// `$crossjoin(…)` and `$all`
    private mutating func dollarResource() throws(Mismatch) -> RequestTarget.Resource {
        if skip(word: "$all", ignoringCase: false) {
            guard skipRaw("/") else { return .all(nil) }
            return .all(try optionallyQualifiedName())
        }
        try expect(word: "$crossjoin", ignoringCase: false)
        try expect("(")
        let sets = try commaSeparated { parser throws(Mismatch) in try parser.identifier() }
        try close()
        var segments: [PathSegment] = []
        if skipRaw("/") {
            let start = at
            try expect(word: "$query", ignoringCase: false)
            segments.append(PathSegment(.query, range(from: start)))
        }
        return .crossJoin(sets, segments)
    }

    mutating func parentheses(into segments: inout [PathSegment]) throws(Mismatch) {
        while peek() == UInt8(ascii: "(") {
            let start = at
            let arguments = try arguments(.literals)
            segments.append(PathSegment(.arguments(arguments), range(from: start)))
        }
        note("`(`", at: at)
    }

    private mutating func pathSegments(into segments: inout [PathSegment]) throws(Mismatch) {
        while skipRaw("/") {
            try countNode()
            let start = at
            let form = try pathSegment(behind: segments)
            // A type is cast to once, and what an operation returns has no such operation by itself.
            if case .name(let name) = form, name.namespace != nil, segments.last?.name == name {
                throw mismatch("another name")
            }
            segments.append(PathSegment(form, range(from: start)))
            switch form {
            case .name, .filter: try parentheses(into: &segments)
            case .count, .ref, .value, .query:
                note("the end", at: at)
                return
            default: break
            }
        }
        note("`/`", at: at)
    }

    private mutating func pathSegment(behind segments: [PathSegment]) throws(Mismatch) -> PathSegment.Form {
        if peek() == UInt8(ascii: "$") { return try dollarPathSegment() }
        if let name = try attempt({ parser throws(Mismatch) in
            let name = try parser.optionallyQualifiedName()
            guard parser.endsName else { throw parser.mismatch("`/`") }
            return name
        }) {
            return .name(name)
        }
        return .text(try keyText())
    }

    private var endsName: Bool {
        guard let next = current else { return true }
        return next.byte == UInt8(ascii: "(") || next.isRaw(UInt8(ascii: "/"))
    }

    private mutating func dollarPathSegment() throws(Mismatch) -> PathSegment.Form {
        let forms: [(StaticString, PathSegment.Form)] = [
            ("$count", .count([])), ("$ref", .ref), ("$value", .value), ("$each", .each), ("$query", .query),
        ]
        for (word, form) in forms where skip(word: word, ignoringCase: false) { return form }
        try expect(word: "$filter", ignoringCase: false)
        try expect("(")
        let condition = try expression()
        try expect(")")
        return .filter(condition)
    }

    /// `keyPathLiteral`, decoded.
    private mutating func keyText() throws(Mismatch) -> String {
        let start = at
        while let character = current, !character.isRaw(UInt8(ascii: "/")) {
            guard character.isEncoded || (character.byte > 0x20 && character.byte != UInt8(ascii: "#")) else { break }
            at += 1
        }
        guard at > start, let key = text(start, at) else { throw mismatch("a segment") }
        return key
    }
}
