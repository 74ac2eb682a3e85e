/// `odataRelativeUri`, section 1 of the ABNF.
extension Parser {
    mutating func requestTarget() throws(Mismatch) -> RequestTarget {
        let last = end
        let mark = source.characters[at..<last].firstIndex { $0.isRaw(UInt8(ascii: "?")) }
        end = mark ?? last
        let (resource, context) = try resource()
        guard isAtEnd else { throw mismatch("the end of the path") }
        end = last
        guard mark != nil else {
            if case .entity = resource { throw mismatch("`?`") }
            return RequestTarget(resource, options: [])
        }
        at += 1
        let written = try givenOptions(context)
        let options = isVersion2 ? PathOptions(written).nested : written
        if case .entity = resource { try requireID(options) }
        return RequestTarget(resource, options: options)
    }

    private mutating func resource() throws(Mismatch) -> (RequestTarget.Resource, OptionContext) {
        if skip(word: "$batch", ignoringCase: false) { return (.batch, .metadata) }
        if skip(word: "$metadata", ignoringCase: false) {
            if peek() == UInt8(ascii: "#") { _ = try context() }
            return (.metadata, .metadata)
        }
        if !isVersion2, skip(word: "$entity", ignoringCase: false) {
            guard skipRaw("/") else { return (.entity(nil), .entity) }
            return (.entity(try optionallyQualifiedName()), .entityCast)
        }
        return (try resourcePath(), .top)
    }

    private mutating func requireID(_ options: [QueryOption]) throws(Mismatch) {
        for option in options {
            if case .id = option.form { return }
        }
        throw mismatch("`$id`")
    }
}

/// `odataUri`: an absolute URL. Sections 1 and A of the ABNF.
extension Parser {
    /// Where the service's root ends is the server's to know; here it is the shortest that leaves a request behind it.
    mutating func absoluteURL() throws(Mismatch) -> RequestTarget {
        try scheme()
        try expect(word: "://")
        try host()
        if skip(":") { _ = try attempt { parser throws(Mismatch) in try parser.digits() } }
        try expectRaw("/")
        return try targetBehindRoot()
    }

    private mutating func targetBehindRoot() throws(Mismatch) -> RequestTarget {
        while !isAtEnd {
            if let target = try attempt({ parser throws(Mismatch) in
                let target = try parser.requestTarget()
                guard parser.isAtEnd else { throw parser.mismatch("the end") }
                return target
            }) {
                return target
            }
            try rootSegment()
        }
        return RequestTarget(.service, options: [])
    }

    private mutating func rootSegment() throws(Mismatch) {
        let start = at
        while let character = current, !character.isRaw(UInt8(ascii: "/")) {
            guard character.isEncoded || (character.byte > 0x20 && !"?#".utf8.contains(character.byte)) else {
                throw mismatch("`/`")
            }
            at += 1
        }
        guard at > start else { throw mismatch("a segment") }
        try expectRaw("/")
    }

    private mutating func scheme() throws(Mismatch) {
        if !skip(word: "https") { try expect(word: "http") }
    }

    private mutating func host() throws(Mismatch) {
        if skip("[") { return try bracketedHost() }
        let start = at
        while let character = current, character.isEncoded || character.byte.isRegisteredName { at += 1 }
        guard at > start else { throw mismatch("a host") }
    }

    private mutating func bracketedHost() throws(Mismatch) {
        let start = at
        if skip("v") || skip("V") {
            let version = at
            while peek()?.hexDigit != nil { at += 1 }
            guard at > version else { throw mismatch("a hexadecimal digit") }
            try expect(".")
            let address = at
            while let byte = peek(), byte.isRegisteredName || byte == UInt8(ascii: ":") { at += 1 }
            guard at > address else { throw mismatch("an address") }
        } else {
            while let byte = peek(), byte.hexDigit != nil || ":.".utf8.contains(byte) { at += 1 }
            guard IPv6Text(text(start, at) ?? "").isValid else { throw mismatch("an IPv6 address") }
        }
        try expect("]")
    }
}

extension UInt8 {
    /// RFC 3986, `reg-name` without encodings.
    fileprivate var isRegisteredName: Bool { isUnreserved || "!$&'()*+,;=".utf8.contains(self) }
}

/// An IPv6 address as RFC 3986 writes it: eight groups, or fewer with one `::`; the last two may be dotted decimals.
private struct IPv6Text {
    let text: String

    init(_ text: String) { self.text = text }

    var isValid: Bool {
        let halves = text.components(around: "::")
        guard halves.count <= 2 else { return false }
        let groups = halves.map { $0.isEmpty ? [] : $0.split(separator: ":", omittingEmptySubsequences: false) }
        var count = 0
        for (half, parts) in groups.enumerated() {
            for (index, part) in parts.enumerated() {
                let isLast = half == groups.count - 1 && index == parts.count - 1
                if isLast, part.contains(".") {
                    guard Self.isDotted(part) else { return false }
                    count += 2
                } else {
                    guard (1...4).contains(part.utf8.count), part.utf8.allSatisfy({ $0.hexDigit != nil }) else {
                        return false
                    }
                    count += 1
                }
            }
        }
        return halves.count == 2 ? count < 8 : count == 8
    }

    private static func isDotted(_ text: Substring) -> Bool {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        // Cannot trap: a text, nil where it is no number.
        return parts.count == 4 && parts.allSatisfy { UInt8($0) != nil && ($0.count == 1 || !$0.hasPrefix("0")) }
    }
}

extension String {
    fileprivate func components(around separator: String) -> [Substring] {
        var parts: [Substring] = []
        var rest = self[...]
        while let found = rest.firstRange(of: separator) {
            parts.append(rest[..<found.lowerBound])
            rest = rest[found.upperBound...]
        }
        return parts + [rest]
    }
}

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
        if !isVersion2 || !skipEmptyParentheses() { try parentheses(into: &segments) }
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
