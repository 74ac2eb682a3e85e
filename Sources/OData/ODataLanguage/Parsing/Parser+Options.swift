/// Query options: which one it is, and what separates them. Section 2 of the ABNF.
extension Parser {
    /// As ``queryOptions(_:)``, without those that are empty: `?&$top=1` is what programs write that put `&` before each.
    mutating func givenOptions(_ context: OptionContext) throws(Mismatch) -> [QueryOption] {
        var options: [QueryOption] = []
        let last = end
        defer { end = last }
        while true {
            while at < last, source.characters[at].isRaw(UInt8(ascii: "&")) { at += 1 }
            guard at < last else { return options }
            end = source.characters[at..<last].firstIndex { $0.isRaw(UInt8(ascii: "&")) } ?? last
            try append(context, to: &options)
            end = last
        }
    }

    private mutating func append(_ context: OptionContext, to options: inout [QueryOption]) throws(Mismatch) {
        let option = try queryOption(context)
        guard isAtEnd else { throw mismatch("`&`") }
        guard !option.isRestOfSearch(behind: options.last) else {
            throw mismatch("`=`, or the ampersand of a search as `%26`")
        }
        options.append(option)
    }

    /// `queryOptions`: joined by `&`, which nothing inside them may be.
    mutating func queryOptions(_ context: OptionContext = .top) throws(Mismatch) -> [QueryOption] {
        let last = end
        defer { end = last }
        var options: [QueryOption] = []
        while true {
            end = source.characters[at..<last].firstIndex { $0.isRaw(UInt8(ascii: "&")) } ?? last
            try append(context, to: &options)
            end = last
            guard at < last else { return options }
            at += 1
        }
    }

    /// `( option ; option )` behind a path of `$expand`, `$select` or `$count`.
    mutating func nestedOptions(_ context: OptionContext) throws(Mismatch) -> [QueryOption] {
        try nested { parser throws(Mismatch) in
            try parser.expect("(")
            var options = [try parser.queryOption(context)]
            while parser.skip(";") { options.append(try parser.queryOption(context)) }
            parser.note("`;`", at: parser.at)
            try parser.expect(")")
            return options
        }
    }

    mutating func queryOption(_ context: OptionContext) throws(Mismatch) -> QueryOption {
        try countNode()
        if isVersion2 { return try version2Option(context) }
        let start = at
        if peek() == UInt8(ascii: "@"), context.allowsAliases { return try aliasOption() }
        if let name = systemName() {
            guard context.allows(name) else {
                at = start
                throw mismatch("an option that may stand here")
            }
            if name == .count, context.allowsCustom, source.characters[start].byte != UInt8(ascii: "$") {
                return try countOrCustom(from: start)
            }
            return try systemOption(name, from: start)
        }
        guard context.allowsCustom else { throw mismatch("an option") }
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

    /// `customQueryOption`, and `nameAndValue`, which only the model distinguishes.
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

/// The system query options by the names that they have in URLs, without `$` and in lower case.
enum OptionName: String, CaseIterable {
    case apply, compute, count, deltatoken, expand, filter, format, id, index, levels, orderby, schemaversion, search
    case select, skip, skiptoken, top
}

/// The context of options, which decides which are allowed.
enum OptionContext {
    case top
    case metadata
    case entity
    case entityCast
    case ofExpand
    case ofExpandedReference
    case ofCount
    case ofSelect

    func allows(_ name: OptionName) -> Bool {
        switch self {
        case .top: name != .levels
        case .metadata: name == .format || name == .schemaversion
        case .entity: [.format, .id].contains(name)
        case .entityCast: [.format, .id, .expand, .select].contains(name)
        case .ofCount: [.filter, .search].contains(name)
        case .ofExpandedReference: [.filter, .search, .orderby, .skip, .top, .count].contains(name)
        case .ofSelect: [.filter, .search, .orderby, .skip, .top, .count, .compute, .select, .expand].contains(name)
        case .ofExpand:
            [.filter, .search, .orderby, .skip, .top, .count, .compute, .select, .expand, .levels, .apply]
                .contains(name)
        }
    }

    /// Whether `@alias=value` may stand there.
    var allowsAliases: Bool { self == .top || self == .ofExpand || self == .ofSelect }
    /// Whether the application's own options may.
    var allowsCustom: Bool {
        switch self {
        case .top, .metadata, .entity, .entityCast: true
        default: false
        }
    }
}

/// The values of system query options, behind `=`.
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

/// Items of `$select` and `$expand`, section 2 of the ABNF.
extension Parser {
    mutating func selectItem() throws(Mismatch) -> SelectItem {
        let start = at
        var segments: [PathSegment] = []
        repeat { try selectSegment(into: &segments) } while skipSlash()
        let options = try selectOptions(&segments)
        return SelectItem(MemberPath(segments, range(from: start)), options: options)
    }

    private mutating func selectSegment(into segments: inout [PathSegment]) throws(Mismatch) {
        try countNode()
        let start = at
        if skip("*") {
            segments.append(PathSegment(.star, range(from: start)))
        } else if peek() == UInt8(ascii: "@") {
            segments.append(PathSegment(.annotation(try annotationName()), range(from: start)))
        } else {
            let name = try optionallyQualifiedName()
            segments.append(PathSegment(.name(name), range(from: start)))
            guard peek() == UInt8(ascii: "."), peek(1) == UInt8(ascii: "*") else { return }
            // `Namespace.*`: all operations of a schema.
            at += 2
            let namespace = name.description
            segments.removeLast()
            segments.append(PathSegment(.name(WrittenName(namespace, "*")), range(from: start)))
        }
    }

    /// `( option ; … )`, or the parameters' names that tell overloads apart, which become a segment.
    private mutating func selectOptions(_ segments: inout [PathSegment]) throws(Mismatch) -> [QueryOption] {
        guard peek() == UInt8(ascii: "(") else { return [] }
        guard case .name? = segments.last?.form else { return try nestedOptions(.ofSelect) }
        let start = at
        if let options = try attempt({ parser throws(Mismatch) in try parser.nestedOptions(.ofSelect) }) {
            return options
        }
        try expect("(")
        let names = try commaSeparated { parser throws(Mismatch) in try parser.identifier() }
        try close()
        segments.append(PathSegment(.arguments(.names(names)), range(from: start)))
        return []
    }

    private mutating func skipSlash() -> Bool {
        note("`/`", at: at)
        return skip("/")
    }

    mutating func expandItem() throws(Mismatch) -> ExpandItem {
        try countNode()
        let start = at
        if skip(word: "$value", ignoringCase: false) {
            let range = range(from: start)
            return ExpandItem(MemberPath([PathSegment(.value, range)], range), options: [])
        }
        var segments: [PathSegment] = []
        repeat { try expandSegment(into: &segments) } while !endsExpandPath(segments) && skipSlash()
        let options = try expandOptions(behind: segments)
        return ExpandItem(MemberPath(segments, range(from: start)), options: options)
    }

    private mutating func expandSegment(into segments: inout [PathSegment]) throws(Mismatch) {
        try countNode()
        let start = at
        let form: PathSegment.Form
        switch peek() {
        case UInt8(ascii: "*"):
            at += 1
            form = .star
        case UInt8(ascii: "@"): form = .annotation(try annotationName())
        case UInt8(ascii: "$") where !segments.isEmpty:
            if skip(word: "$count", ignoringCase: false) {
                form = .count([])
            } else {
                try expect(word: "$ref", ignoringCase: false)
                form = .ref
            }
        default: form = .name(try optionallyQualifiedName())
        }
        segments.append(PathSegment(form, range(from: start)))
    }

    /// Whether nothing can follow but options: behind `$ref` and `$count`.
    private func endsExpandPath(_ segments: [PathSegment]) -> Bool {
        switch segments.last?.form {
        case .ref, .count: true
        default: false
        }
    }

    private mutating func expandOptions(behind segments: [PathSegment]) throws(Mismatch) -> [QueryOption] {
        guard peek() == UInt8(ascii: "(") else { return [] }
        switch segments.last?.form {
        case .ref: return try nestedOptions(.ofExpandedReference)
        case .count: return try nestedOptions(.ofCount)
        default: return try nestedOptions(.ofExpand)
        }
    }
}

/// How deep `$expand` goes, `$levels` counted, in one pass over the options and those nested in them.
extension RequestTarget {
    /// Throws where an expansion goes deeper than the limit; `$levels=max` is as deep as is left.
    func checkExpansions(_ limits: LanguageLimits) throws(SyntaxError) {
        try Self.check(options, left: limits.expandDepth, limits)
    }

    private static func check(_ options: [QueryOption], left: Int, _ limits: LanguageLimits) throws(SyntaxError) {
        for option in options {
            guard case .expand(let items) = option.form else { continue }
            for item in items {
                let deeper = left - levels(of: item)
                guard deeper >= 0 else {
                    throw SyntaxError(
                        position: item.path.range.start, expected: "at most \(limits.expandDepth) levels of $expand",
                        kind: .limit)
                }
                try check(item.options, left: deeper, limits)
            }
        }
    }

    private static func levels(of item: ExpandItem) -> Int {
        for option in item.options {
            if case .levels(.number(let digits)) = option.form { return Int(digits) ?? Int.max / 2 }
        }
        return 1
    }
}
