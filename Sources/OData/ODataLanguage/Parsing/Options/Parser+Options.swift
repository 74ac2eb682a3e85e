/// Query options: which one it is, and what separates them. Section 2 of the ABNF.
extension Parser {
    /// `queryOptions`: joined by `&`, which nothing inside them may be.
    mutating func queryOptions(_ place: OptionContext = .top) throws(Mismatch) -> [QueryOption] {
        let last = end
        defer { end = last }
        var options: [QueryOption] = []
        while true {
            end = source.characters[at..<last].firstIndex { $0.isRaw(UInt8(ascii: "&")) } ?? last
            let option = try queryOption(place)
            guard isAtEnd else { throw mismatch("`&`") }
            guard !option.isRestOfSearch(behind: options.last) else {
                throw mismatch("`=`, or the ampersand of a search as `%26`")
            }
            options.append(option)
            end = last
            guard at < last else { return options }
            at += 1
        }
    }

    /// `( option ; option )` behind a path of `$expand`, `$select` or `$count`.
    mutating func nestedOptions(_ place: OptionContext) throws(Mismatch) -> [QueryOption] {
        try nested { parser throws(Mismatch) in
            try parser.expect("(")
            var options = [try parser.queryOption(place)]
            while parser.skip(";") { options.append(try parser.queryOption(place)) }
            parser.note("`;`", at: parser.at)
            try parser.expect(")")
            return options
        }
    }

    mutating func queryOption(_ place: OptionContext) throws(Mismatch) -> QueryOption {
        try countNode()
        if isVersion2 { return try version2Option(place) }
        let start = at
        if peek() == UInt8(ascii: "@"), place.allowsAliases { return try aliasOption() }
        if let name = systemName() {
            guard place.allows(name) else {
                at = start
                throw mismatch("an option that may stand here")
            }
            if name == .count, place.allowsCustom, source.characters[start].byte != UInt8(ascii: "$") {
                return try countOrCustom(from: start)
            }
            return try systemOption(name, from: start)
        }
        guard place.allowsCustom else { throw mismatch("an option") }
        return try customOption()
    }

    /// `count` is a likely name of a function's parameter, and one with a number is no `$count`: `nameAndValue`.
    private mutating func countOrCustom(from start: Int) throws(Mismatch) -> QueryOption {
        if let count = try attempt({ parser throws(Mismatch) in
            let option = try parser.systemOption(.count, from: start)
            guard parser.isAtEnd else { throw parser.mismatch("`&`") }
            return option
        }) {
            return count
        }
        at = start
        return try customOption()
    }

    /// `systemQueryOption`
    mutating func systemQueryOption() throws(Mismatch) -> QueryOption {
        guard systemNameFollows else { throw mismatch("a system query option") }
        return try queryOption(.top)
    }

    private var systemNameFollows: Bool {
        var copy = self
        return copy.systemName() != nil
    }

    /// One certain system option.
    mutating func option(_ wanted: OptionName) throws(Mismatch) -> QueryOption {
        let start = at
        guard systemName() == wanted else {
            at = start
            throw mismatch("`$\(wanted.rawValue)`")
        }
        return try systemOption(wanted, from: start)
    }

    /// A system option's name with or without `$`; nothing is consumed where it is another.
    private mutating func systemName() -> OptionName? {
        let start = at
        let hasDollar = skip("$")
        let first = at
        while let byte = peek(), byte.isIdentifier { at += 1 }
        let written = text(first, at) ?? ""
        if let name = OptionName(rawValue: written.lowercased()) {
            // Tokens are the server's own and have no name without `$`.
            if hasDollar || ![.skiptoken, .deltatoken].contains(name) { return name }
        }
        at = start
        return nil
    }

    private mutating func systemOption(_ name: OptionName, from start: Int) throws(Mismatch) -> QueryOption {
        let nameRange = range(from: start)
        try expect("=")
        let form = try nested { parser throws(Mismatch) in try parser.value(of: name) }
        return QueryOption(form, nameRange: nameRange, range: range(from: start))
    }

    /// `aliasAndValue`
    private mutating func aliasOption() throws(Mismatch) -> QueryOption {
        let start = at
        try countAlias()
        at += 1
        let name = try identifier()
        let nameRange = range(from: start)
        try expect("=")
        let value = try nested { parser throws(Mismatch) in try parser.valueInURL() }
        return QueryOption(.alias(name, value), nameRange: nameRange, range: range(from: start))
    }

    /// `customQueryOption`, and `nameAndValue`, which only the model tells apart.
    mutating func customOption() throws(Mismatch) -> QueryOption {
        let start = at
        guard let first = current, ![UInt8(ascii: "$"), UInt8(ascii: "@")].contains(first.byte) else {
            throw mismatch("an option's name")
        }
        try characters { !$0.isRaw(UInt8(ascii: "=")) }
        guard at > start else { throw mismatch("an option's name") }
        let nameRange = range(from: start)
        let name = text(start, at) ?? ""
        guard skipRaw("=") else {
            return QueryOption(
                .custom(name: name, value: nil, valueRange: range(from: at)), nameRange: nameRange, range: nameRange)
        }
        let valueStart = at
        try characters { _ in true }
        return QueryOption(
            .custom(name: name, value: text(valueStart, at) ?? "", valueRange: range(from: valueStart)),
            nameRange: nameRange, range: range(from: start))
    }

    /// Characters of an opaque value, of which a URL must encode `#` and control characters, up to `&`.
    mutating func characters(while accepted: (SourceText.Character) -> Bool) throws(Mismatch) {
        while let character = current, accepted(character) {
            guard character.isEncoded || (character.byte > 0x20 && character.byte != UInt8(ascii: "#")),
                !character.isRaw(UInt8(ascii: "&"))
            else { throw mismatch("an encoded character") }
            at += 1
        }
    }
}

extension QueryOption {
    /// `$search=more&more`: a word alone behind a search is the rest of it.
    fileprivate func isRestOfSearch(behind last: QueryOption?) -> Bool {
        guard case .custom(let name, nil, _) = form, case .search? = last?.form else { return false }
        return name.utf8.allSatisfy(\.isIdentifier)
    }
}
