import AdapterKit
import ValueTree

/// Values as markup: records as tables, everything else by its structure. Every text in it is escaped.
enum ValueMarkup {
    /// Rows of one list; the rest is counted.
    static let maximumRows = 500
    /// Columns of one table; further members are left to the wire formats.
    static let maximumColumns = 40
    /// Characters of one text.
    static let maximumText = 4_000
    /// Tables within tables.
    static let maximumDepth = 4

    /// `depth`: how many tables it stands in.
    static func content(_ value: WireValue, _ depth: Int) -> HTML {
        switch value {
        case .array(let items): list(items, depth)
        case .dictionary(let members): members.isEmpty ? empty : table(of: members, depth)
        case .date(let date): time(date)
        default: .element("div", [.init("class", "text")], [.text(text(value))])
        }
    }

    static func list(_ items: [WireValue], _ depth: Int) -> HTML {
        guard !items.isEmpty else { return empty }
        guard depth < maximumDepth else { return .text("\(items.count) entries") }
        let shown = items.prefix(maximumRows)
        let records = shown.compactMap(\.dictionaryValue)
        let body =
            records.count == shown.count
            ? table(of: records, depth)
            : HTML.element("ul", shown.map { .element("li", content($0, depth + 1)) })
        guard items.count > shown.count else { return body }
        return .group([body, .element("p", .text("\(items.count - shown.count) more are not shown."))])
    }

    private static func table(of records: [WireDictionary], _ depth: Int) -> HTML {
        let columns = columns(of: records)
        let head = HTML.element("tr", columns.map { .element("th", [.init("scope", "col")], [.text(cut($0))]) })
        let rows = records.map { record in
            HTML.element(
                "tr", columns.map { name in .element("td", record[name].map { [content($0, depth + 1)] } ?? []) })
        }
        return scrolling(.element("table", .element("thead", head), .element("tbody", rows)), depth)
    }

    /// In the order in which the records have them.
    private static func columns(of records: [WireDictionary]) -> [String] {
        var columns: [String] = []
        var known: Set<[UInt8]> = []
        for record in records {
            for entry in record where known.insert(Array(entry.key.utf8)).inserted {
                columns.append(entry.key)
                if columns.count == maximumColumns { return columns }
            }
        }
        return columns
    }

    private static func table(of members: WireDictionary, _ depth: Int) -> HTML {
        guard depth < maximumDepth else { return .text("\(members.count) members") }
        // A list of records alone needs no table around it.
        if depth == 0, let items = members["items"]?.arrayValue {
            let rest = members.filter { $0.key != "items" && $0.key != "next" }
            let facts = rest.map { HTML.element("p", .text("\(cut($0.key)): \(text($0.value))")) }
            return .group(facts + [list(items, depth)])
        }
        let rows = members.prefix(maximumRows).map { member in
            HTML.element(
                "tr", .element("th", [.init("scope", "row")], [.text(cut(member.key))]),
                .element("td", content(member.value, depth + 1)))
        }
        return scrolling(.element("table", .element("tbody", rows)), depth)
    }

    /// A table within a table scrolls with it.
    private static func scrolling(_ table: HTML, _ depth: Int) -> HTML { depth == 0 ? .scrolling(table) : table }

    static let empty = HTML.element("div", [.init("class", "note")], ["nothing"])

    /// A value in a cell of its own: on one line, and no longer than a table takes.
    static func line(_ value: WireValue) -> HTML {
        switch value {
        case .date(let date): return time(date)
        case .array(let items) where items.allSatisfy(\.isScalar):
            return .text(cut(items.map(text).joined(separator: ", "), longestLine))
        default: return .text(cut(text(value), longestLine))
        }
    }

    private static let longestLine = 160

    /// To the minute, or the day where it is midnight; the attribute has all of it.
    private static func time(_ date: WireDate) -> HTML {
        guard let exact = date.rfc3339 else { return .text(String(date.secondsSinceReferenceDate)) }
        let (day, clock) = exact.splitOnce(at: "T")
        var words = String(day)
        if let clock, clock != "00:00:00Z" { words += " \(clock.prefix(5)) UTC" }
        return .element("time", [.init("datetime", exact), .init("title", exact)], [.text(words)])
    }

    static func text(_ value: WireValue) -> String {
        switch value {
        case .null: "–"
        case .bool(let flag): flag ? "true" : "false"
        case .int64(let number): String(number)
        case .uint64(let number), .uid(let number): String(number)
        case .double(let number): String(number)
        case .decimal(let number): cut(number.description)
        case .string(let text): cut(text)
        case .data(let bytes): "\(bytes.count) bytes"
        case .date(let date): date.rfc3339 ?? String(date.secondsSinceReferenceDate)
        case .array(let items): "\(items.count) entries"
        case .dictionary(let members): "\(members.count) members"
        }
    }

    static func cut(_ text: String, _ maximum: Int = maximumText) -> String {
        text.utf8.count <= maximum ? text : String(text.prefix(maximum)) + "…"
    }
}

extension WireValue {
    fileprivate var isScalar: Bool {
        switch self {
        case .array, .dictionary: false
        default: true
        }
    }
}

extension RequestTarget {
    /// The same address with these parameters; nil takes one away.
    func address(setting settings: [(name: String, value: String?)]) -> String {
        let kept = query.filter { item in !settings.contains { $0.name == item.name } }
        let items = kept + settings.compactMap { name, value in value.map { QueryItem(name: name, value: $0) } }
        guard !items.isEmpty else { return path }
        let query = items.map { "\(PercentEncoding.encode($0.name))=\(PercentEncoding.encode($0.value))" }
        return "\(path)?\(query.joined(separator: "&"))"
    }
}

/// `?format=` in each of the wire formats that the gateway has.
struct FormatLinks: Sendable {
    let target: RequestTarget
    /// Names that `?format=` takes.
    let formats: [String]

    var html: HTML {
        let links = formats.flatMap { format in
            [.text(" "), HTML.link(target.address(setting: [("format", format)]), format)]
        }
        return .element(
            "nav", [.init("class", "note"), .init("aria-label", "Formats")], [.text("The same as:")] + links)
    }
}
