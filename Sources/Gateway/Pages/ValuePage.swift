import AdapterKit
import HTTPTypes
import ValueTree

/// A value as a page for people: records as a table, everything else by its structure. It runs no script, and every text
/// in it is escaped.
struct ValuePage: Sendable {
    /// Of one list; the rest is counted.
    static let maximumRows = 500
    /// Of one table; further members are left to the wire formats.
    static let maximumColumns = 40
    /// Characters of one text.
    static let maximumText = 4_000
    /// Tables within tables.
    static let maximumDepth = 4

    let value: WireValue
    let target: RequestTarget
    /// Names that `?format=` takes.
    let formats: [String]

    var html: HTML {
        .document(
            title: target.path, isWide: true,
            body: [.element("h1", [.init("class", "path")], [.text(target.path)]), content(value, 0), next, links]
                .compactMap(\.self))
    }

    /// The following page of a list (``ListEndpoint``).
    private var next: HTML? {
        guard let cursor = value.dictionaryValue?["next"]?.stringValue else { return nil }
        return .element("p", .link(address(setting: "cursor", to: cursor), "Next page"))
    }

    private var links: HTML {
        let links = formats.flatMap { [.text(" "), HTML.link(address(setting: "format", to: $0), $0)] }
        return .element("nav", [.init("aria-label", "Formats")], ["The same as:"] + links)
    }

    private func address(setting name: String, to value: String) -> String {
        let items = target.query.filter { $0.name != name } + [.init(name: name, value: value)]
        let query = items.map { "\(PercentEncoding.encode($0.name))=\(PercentEncoding.encode($0.value))" }
        return "\(target.path)?\(query.joined(separator: "&"))"
    }

    private func content(_ value: WireValue, _ depth: Int) -> HTML {
        switch value {
        case .array(let items): list(items, depth)
        case .dictionary(let members): members.isEmpty ? Self.empty : table(of: members, depth)
        default: .element("div", [.init("class", "text")], [.text(Self.text(value))])
        }
    }

    private func list(_ items: [WireValue], _ depth: Int) -> HTML {
        guard !items.isEmpty else { return Self.empty }
        guard depth < Self.maximumDepth else { return .text("\(items.count) entries") }
        let shown = items.prefix(Self.maximumRows)
        let records = shown.compactMap(\.dictionaryValue)
        let body =
            records.count == shown.count
            ? table(of: records, depth)
            : HTML.element("ul", shown.map { .element("li", content($0, depth + 1)) })
        guard items.count > shown.count else { return body }
        return .group([body, .element("p", .text("\(items.count - shown.count) more are not shown."))])
    }

    private func table(of records: [WireDictionary], _ depth: Int) -> HTML {
        let columns = Self.columns(of: records)
        let head = HTML.element(
            "tr", columns.map { .element("th", [.init("scope", "col")], [.text(Self.cut($0))]) })
        let rows = records.map { record in
            HTML.element(
                "tr", columns.map { name in .element("td", record[name].map { [content($0, depth + 1)] } ?? []) })
        }
        return Self.table(.element("table", .element("thead", head), .element("tbody", rows)), depth)
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

    private func table(of members: WireDictionary, _ depth: Int) -> HTML {
        guard depth < Self.maximumDepth else { return .text("\(members.count) members") }
        // A list of records alone needs no table around it.
        if depth == 0, let items = members["items"]?.arrayValue {
            let rest = members.filter { $0.key != "items" && $0.key != "next" }
            let facts = rest.map { HTML.element("p", .text("\(Self.cut($0.key)): \(Self.text($0.value))")) }
            return .group(facts + [list(items, depth)])
        }
        let rows = members.prefix(Self.maximumRows).map { member in
            HTML.element(
                "tr", .element("th", [.init("scope", "row")], [.text(Self.cut(member.key))]),
                .element("td", content(member.value, depth + 1)))
        }
        return Self.table(.element("table", .element("tbody", rows)), depth)
    }

    /// A table within a table scrolls with it.
    private static func table(_ table: HTML, _ depth: Int) -> HTML { depth == 0 ? .scrolling(table) : table }

    private static let empty = HTML.element("div", [.init("class", "note")], ["nothing"])

    private static func text(_ value: WireValue) -> String {
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

    private static func cut(_ text: String) -> String {
        text.utf8.count <= maximumText ? text : String(text.prefix(maximumText)) + "…"
    }
}

/// A failure as a page for people.
struct ErrorPage: Sendable {
    let error: PorticoError
    let requestID: String
    /// What was asked for, to come back to after signing in.
    let path: LocalPath?

    var html: HTML {
        .document(
            title: "\(error.code.status.code) \(error.code.status.reasonPhrase)",
            body: [
                .element("h1", .text(error.code.status.reasonPhrase)),
                .element("p", [.init("role", "alert")], [.text(error.message)]), signIn,
                .element(
                    "p", [.init("class", "note")],
                    [
                        .link(ErrorCodeLink(error.code).path, error.code.rawValue),
                        .text(" · request \(requestID)"),
                    ]),
            ].compactMap(\.self))
    }

    private var signIn: HTML? {
        guard error.code.status == .unauthorized else { return nil }
        return .element("p", .link(SignInPage.address(leadingTo: path ?? .front), "Sign in"))
    }
}
