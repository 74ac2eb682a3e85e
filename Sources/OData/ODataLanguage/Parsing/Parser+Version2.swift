import AdapterKit
import ODataModel

/// OData 2.0's query options (MS-ODATA, section 2.2.3.6). Their names are case-sensitive and begin with `$`; SAP's
/// `!deltatoken` and options of the application's own do not.
extension Parser {
    mutating func version2Option(_ context: OptionContext) throws(Mismatch) -> QueryOption {
        let start = at
        if skip(word: "!deltatoken", ignoringCase: false) { return try deltaToken(from: start) }
        guard peek() == UInt8(ascii: "$") else { return try customOption() }
        guard let name = version2Name(), context != .metadata || name == .format else {
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

/// OData 2.0's resource paths (MS-ODATA, section 2.2.3.5): names, keys, `$links`, `$count` and `$value`.
extension Parser {
    /// What follows the first segment. `$links/Items` becomes `Items/$ref`.
    mutating func version2Segments(into segments: inout [PathSegment]) throws(Mismatch) {
        while skipRaw("/") {
            try countNode()
            let start = at
            if peek() == UInt8(ascii: "$") {
                if skip(word: "$links", ignoringCase: false) { return try linked(from: start, into: &segments) }
                let form: PathSegment.Form
                if skip(word: "$count", ignoringCase: false) {
                    form = .count([])
                } else {
                    try expect(word: "$value", ignoringCase: false)
                    form = .value
                }
                segments.append(PathSegment(form, range(from: start)))
                // Some clients of version 2 write `$value/`.
                if case .value = form { _ = skipRaw("/") }
                return note("the end", at: at)
            }
            try version2Name(into: &segments)
        }
        note("`/`", at: at)
    }

    private mutating func linked(from start: Int, into segments: inout [PathSegment]) throws(Mismatch) {
        let links = range(from: start)
        try expectRaw("/")
        try version2Name(into: &segments)
        segments.append(PathSegment(.ref, links))
        note("the end", at: at)
    }

    private mutating func version2Name(into segments: inout [PathSegment]) throws(Mismatch) {
        let start = at
        segments.append(PathSegment(.name(try optionallyQualifiedName()), range(from: start)))
        if !skipEmptyParentheses() { try parentheses(into: &segments) }
    }

    /// `Students()` is all students, and a function's arguments are in the query: every query of .NET's WCF Data Services
    /// client has such parentheses.
    mutating func skipEmptyParentheses() -> Bool {
        let start = at
        if skip("("), skip(")") { return true }
        at = start
        return false
    }
}

/// OData 2.0's literals ([MS-ODATA], section 2.2.2; OData 2.0, Overview, section 6):
///
///     null  true  12  12L  1.5M  1.5d  1.5f  NaN  INF  'it''s'  X'0AFF'  binary'0AFF'  guid'…'
///     datetime'2024-01-15T10:30[:00[.123]]'  datetimeoffset'2024-01-15T10:30:00Z'  time'PT10H30M'
///
/// They become the cases that version 4's literals become: `datetime` an instant in UTC, `time` a time of day.
extension Parser {
    mutating func version2Literal() throws(Mismatch) -> Literal {
        if peek() == UInt8(ascii: "'") { return .string(try string()) }
        for kind in Version2Kind.allCases {
            if let literal = try attempt({ parser throws(Mismatch) in
                let literal = try parser.version2Literal(of: kind)
                if let next = parser.peek(), next.isIdentifier || next == UInt8(ascii: "'") {
                    throw parser.mismatch("the literal's end")
                }
                return literal
            }) {
                return literal
            }
        }
        throw mismatch("a literal")
    }

    /// In an order in which none takes the start of another.
    private enum Version2Kind: CaseIterable {
        case null, boolean, dateTimeOffset, dateTime, time, guid, binary, number
    }

    private mutating func version2Literal(of kind: Version2Kind) throws(Mismatch) -> Literal {
        switch kind {
        case .null: return try nullLiteral()
        case .boolean: return .boolean(try booleanValue())
        case .dateTimeOffset:
            try expect(word: "datetimeoffset")
            return try quoted { parser throws(Mismatch) in try parser.instant(hasOffset: true) }
        case .dateTime:
            try expect(word: "datetime")
            return try quoted { parser throws(Mismatch) in try parser.instant(hasOffset: false) }
        case .time:
            try expect(word: "time")
            return try quoted { parser throws(Mismatch) in try parser.time() }
        case .guid:
            try expect(word: "guid")
            return try quoted { parser throws(Mismatch) in try parser.guid() }
        case .binary:
            if !skip(word: "x") { try expect(word: "binary") }
            return .binary(try quoted { parser throws(Mismatch) in try parser.hexadecimal() })
        case .number: return try suffixedNumber()
        }
    }

    /// With seconds and an offset, whatever was left out. Some clients put a `Z` where no offset belongs.
    private mutating func instant(hasOffset: Bool) throws(Mismatch) -> Literal {
        let start = at
        var text = try dateText()
        try expect(word: "T")
        let time = try timeText()
        text += "T" + time + (time.utf8.count == 5 ? ":00" : "")
        text += hasOffset ? try offset() : "Z"
        if !hasOffset { _ = skip(word: "Z") }
        guard WireDate(rfc3339: text) != nil else { throw noValue("a day of the calendar", from: start) }
        return .dateTimeOffset(text)
    }

    private mutating func offset() throws(Mismatch) -> String {
        if skip(word: "Z") { return "Z" }
        guard let sign = sign() else { throw mismatch("`Z` or an offset") }
        let hours = try digits(2...2)
        try expect(":")
        return "\(sign)\(hours):\(try digits(2...2))"
    }

    /// The time since midnight as a duration.
    private mutating func time() throws(Mismatch) -> Literal {
        let start = at
        guard case .duration(let text) = try duration(), let time = Version2Time.timeOfDay(text) else {
            throw noValue("a duration of less than a day", from: start)
        }
        return .timeOfDay(time)
    }

    private mutating func hexadecimal() throws(Mismatch) -> [UInt8] {
        var bytes: [UInt8] = []
        while let high = peek()?.hexDigit {
            at += 1
            guard let low = peek()?.hexDigit else { throw mismatch("a hexadecimal digit") }
            at += 1
            bytes.append(high << 4 | low)
        }
        note("a hexadecimal digit", at: at)
        return bytes
    }

    private mutating func suffixedNumber() throws(Mismatch) -> Literal {
        if skip(word: "Nan", ignoringCase: false) { return .notANumber }
        let number = try number()
        guard let letter = peek(), letter.isLetter else { return number }
        let suffixes: [UInt8: Literal.NumberSuffix] = [
            UInt8(ascii: "l"): .long, UInt8(ascii: "m"): .decimal, UInt8(ascii: "d"): .double,
            UInt8(ascii: "f"): .single,
        ]
        guard let suffix = suffixes[letter.lowercased] else { throw mismatch("`L`, `M`, `D` or `F`") }
        at += 1
        guard case .number(let digits, _) = number else { return number }
        return .number(digits, suffix: suffix)
    }
}

/// Literals of version 2 by themselves.
public enum Version2Literal {
    /// Percent-decoded text as one literal; nil for what is not one literal and nothing else.
    public static func read(_ text: some StringProtocol) -> Literal? {
        guard let source = try? SourceText(String(text), as: .plain) else { return nil }
        var parser = Parser(source)
        parser.language = .v2
        return try? parser.whole { parser throws(Parser.Mismatch) in try parser.version2Literal() }
    }
}

/// OData 2.0's `$expand` and `$select`, whose paths go through navigation properties, as version 4's, where every level
/// has options of its own: `$expand=A/B&$select=Name,A/Size` is `$expand=A($expand=B;$select=Size)&$select=Name`.
///
/// What is expanded but not selected is left out (MS-ODATA, section 2.2.3.6.1.3).
struct PathOptions {
    private let options: [QueryOption]

    init(_ options: [QueryOption]) {
        self.options = options
    }

    /// The options in their order, with those two nested.
    var nested: [QueryOption] {
        var expanded: (paths: [Path], option: QueryOption)?
        var selected: (paths: [Path], option: QueryOption)?
        for option in options {
            switch option.form {
            case .expand(let items) where expanded == nil: expanded = (items.map { $0.path.segments[...] }, option)
            case .select(let items) where selected == nil: selected = (items.map { $0.path.segments[...] }, option)
            default: continue
            }
        }
        guard expanded != nil || selected != nil else { return options }
        let names = Names(expand: expanded?.option.nameRange, select: selected?.option.nameRange)
        let level = Self.level(expanded?.paths ?? [], selected?.paths, names)
        var isDone = (expand: false, select: false)
        return options.compactMap { option in
            switch option.form {
            // One that is there twice stays twice, which is refused later.
            case .expand where !isDone.expand:
                isDone.expand = true
                return level.first { if case .expand = $0.form { true } else { false } }
            case .select where !isDone.select:
                isDone.select = true
                return level.first { if case .select = $0.form { true } else { false } }
            default: return option
            }
        }
    }

    private typealias Path = ArraySlice<PathSegment>

    /// Where the two options' names stand.
    private struct Names {
        let expand: SourceRange?
        let select: SourceRange?
    }

    private static func level(_ expanded: [Path], _ selected: [Path]?, _ names: Names) -> [QueryOption] {
        var heads: [PathSegment] = []
        for head in expanded.compactMap(\.first) where !heads.contains(where: { $0.form == head.form }) {
            heads.append(head)
        }
        var options: [QueryOption] = []
        if let selected, let range = names.select {
            let items = items(selected, through: heads)
            options.append(QueryOption(.select(items), nameRange: range, range: range))
        }
        let items = heads.compactMap { head -> ExpandItem? in
            guard let inner = choice(head, selected) else { return nil }
            let rest = expanded.filter { $0.first?.form == head.form && $0.count > 1 }.map { $0.dropFirst() }
            return ExpandItem(MemberPath([head], head.range), options: level(rest, inner.selected, names))
        }
        if !items.isEmpty, let range = names.expand {
            options.append(QueryOption(.expand(items), nameRange: range, range: range))
        }
        return options
    }

    private enum Choice {
        case everything
        case paths([Path])

        var selected: [Path]? {
            if case .paths(let paths) = self { paths } else { nil }
        }
    }

    /// What is selected of an expanded property; nil where it is left out.
    private static func choice(_ head: PathSegment, _ selected: [Path]?) -> Choice? {
        guard let selected else { return .everything }
        let through = selected.filter { $0.first?.form == head.form }
        if through.contains(where: { $0.count == 1 }) { return .everything }
        if !through.isEmpty { return .paths(through.map { $0.dropFirst() }) }
        return selected.contains { $0.first?.form == .star } ? .everything : nil
    }

    /// Paths through what is expanded become its name alone.
    private static func items(_ selected: [Path], through heads: [PathSegment]) -> [SelectItem] {
        var items: [SelectItem] = []
        for path in selected {
            guard let first = path.first, let last = path.last else { continue }
            let isThrough = heads.contains { $0.form == first.form }
            let kept = isThrough ? [first] : Array(path)
            guard !items.contains(where: { $0.path.segments.map(\.form) == kept.map(\.form) }) else { continue }
            items.append(
                SelectItem(MemberPath(kept, first.range.through(isThrough ? first.range : last.range)), options: []))
        }
        return items
    }
}
