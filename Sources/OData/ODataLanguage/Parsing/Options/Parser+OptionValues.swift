/// What stands behind a system query option's `=`.
extension Parser {
    mutating func value(of name: OptionName) throws(Mismatch) -> QueryOption.Form {
        switch name {
        case .filter: .filter(try expression())
        case .orderby: .orderBy(try orderItems())
        case .select: .select(try commaSeparated { parser throws(Mismatch) in try parser.selectItem() })
        case .expand: .expand(try commaSeparated { parser throws(Mismatch) in try parser.expandItem() })
        case .compute: .compute(try computeItems())
        case .search: .search(try search())
        case .apply: .apply(try transformations())
        case .top: .top(try digits())
        case .skip: .skip(try digits())
        case .index: .index((skip("-") ? "-" : "") + (try digits()))
        case .count: .count(try boolean())
        case .levels: .levels(try levels())
        case .format: .format(try format())
        case .skiptoken: .skipToken(try opaque())
        case .deltatoken: .deltaToken(try opaque())
        case .id: .id(try opaque())
        case .schemaversion: .schemaVersion(try schemaVersion())
        }
    }

    /// `orderbyItem *( COMMA orderbyItem )`
    mutating func orderItems() throws(Mismatch) -> [OrderItem] {
        try commaSeparated { parser throws(Mismatch) in
            let expression = try parser.expression()
            let direction = try parser.attempt { parser throws(Mismatch) in
                try parser.expectSpace()
                if parser.skip(word: "asc") { return false }
                try parser.expect(word: "desc")
                return true
            }
            return OrderItem(expression, descending: direction ?? false)
        }
    }

    /// `computeItem *( COMMA computeItem )`
    mutating func computeItems() throws(Mismatch) -> [ComputeItem] {
        try commaSeparated { parser throws(Mismatch) in
            let expression = try parser.expression()
            let (name, range) = try parser.alias()
            return ComputeItem(expression, name: name, nameRange: range)
        }
    }

    /// `RWS "as" RWS name`
    mutating func alias() throws(Mismatch) -> (String, SourceRange) {
        try expectSpace()
        try expect(word: "as")
        try expectSpace()
        let start = at
        return (try identifier(), range(from: start))
    }

    private mutating func levels() throws(Mismatch) -> Levels {
        if skip(word: "max") { return .max }
        guard let first = peek(), first.isDigit, first != UInt8(ascii: "0") else { throw mismatch("1 to 9") }
        return .number(try digits())
    }

    /// `json`, `atom`, `xml` or a media type
    mutating func format() throws(Mismatch) -> String {
        let start = at
        try characters { _ in true }
        let value = text(start, at) ?? ""
        let parts = value.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        if parts.count == 2, parts.allSatisfy({ !$0.isEmpty }) { return value }
        guard ["json", "atom", "xml"].contains(value.lowercased()) else {
            at = start
            throw mismatch("`json`, `xml`, `atom` or a media type")
        }
        return value
    }

    mutating func opaque() throws(Mismatch) -> String {
        let start = at
        try characters { _ in true }
        guard at > start, let value = text(start, at) else { throw mismatch("a value") }
        return value
    }

    private mutating func schemaVersion() throws(Mismatch) -> String {
        if skip("*") { return "*" }
        let start = at
        while let byte = peek(), byte.isUnreserved { at += 1 }
        guard at > start else { throw mismatch("a version or `*`") }
        return text(start, at) ?? ""
    }
}

extension UInt8 {
    /// RFC 3986, section 2.3
    var isUnreserved: Bool {
        isLetter || isDigit
            || [UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~")].contains(self)
    }
}
