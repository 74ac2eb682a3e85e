/// OData 2.0's query options (MS-ODATA, section 2.2.3.6). Their names are case-sensitive and begin with `$`; SAP's
/// `!deltatoken` and options of the application's own do not.
extension Parser {
    mutating func version2Option(_ place: OptionContext) throws(Mismatch) -> QueryOption {
        let start = at
        if skip(word: "!deltatoken", ignoringCase: false) { return try deltaToken(from: start) }
        guard peek() == UInt8(ascii: "$") else { return try customOption() }
        guard let name = version2Name(), place != .metadata || name == .format else {
            at = start
            throw mismatch("an option of OData 2.0")
        }
        let nameRange = range(from: start)
        try expect("=")
        let form = try nested { parser throws(Mismatch) in try parser.value(of: name) }
        return QueryOption(form, nameRange: nameRange, range: range(from: start))
    }

    private enum Version2Name: String {
        case expand, filter, format, inlinecount, orderby, select, skip, skiptoken, top
    }

    private mutating func version2Name() -> Version2Name? {
        at += 1
        let first = at
        while let byte = peek(), byte.isLetter { at += 1 }
        return Version2Name(rawValue: text(first, at) ?? "")
    }

    private mutating func value(of name: Version2Name) throws(Mismatch) -> QueryOption.Form {
        switch name {
        case .filter: return .filter(try expression())
        case .orderby: return .orderBy(try orderItems())
        case .top: return .top(try digits())
        case .skip: return .skip(try digits())
        case .skiptoken: return .skipToken(try opaque())
        case .format: return .format(try format())
        case .inlinecount: return .count(try inlineCount())
        case .select:
            return .select(try plainPaths().map { SelectItem($0, options: []) })
        case .expand:
            return .expand(try plainPaths().map { ExpandItem($0, options: []) })
        }
    }

    private mutating func inlineCount() throws(Mismatch) -> Bool {
        if skip(word: "allpages", ignoringCase: false) { return true }
        try expect(word: "none", ignoringCase: false)
        return false
    }

    /// `A/B,C,*`
    private mutating func plainPaths() throws(Mismatch) -> [MemberPath] {
        try commaSeparated { parser throws(Mismatch) in
            let start = parser.at
            var segments: [PathSegment] = []
            repeat {
                try parser.countNode()
                let first = parser.at
                let form: PathSegment.Form =
                    parser.skip("*") ? .star : .name(try parser.optionallyQualifiedName())
                segments.append(PathSegment(form, parser.range(from: first)))
                parser.note("`/`", at: parser.at)
            } while parser.skip("/")
            return MemberPath(segments, parser.range(from: start))
        }
    }

    /// `!deltatoken=…` or `!deltatoken='…'`
    private mutating func deltaToken(from start: Int) throws(Mismatch) -> QueryOption {
        let nameRange = range(from: start)
        try expect("=")
        let isQuoted = peek() == UInt8(ascii: "'")
        let token = isQuoted ? try string() : try opaque()
        return QueryOption(.deltaToken(token), nameRange: nameRange, range: range(from: start))
    }
}
