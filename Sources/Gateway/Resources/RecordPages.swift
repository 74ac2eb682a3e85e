import AdapterKit
import ValueTree

/// A page of an entity's records for people: to search, filter, sort and open. A list on a narrow screen. It runs no script.
struct RecordListPage: Sendable {
    /// Records of a page where the request does not say, and at most: what is left follows on the next page.
    static let defaultLimit = 50
    static let maximumLimit = 200
    /// Bytes of a text that stays on one line: names, dates, numbers of telephones.
    private static let longestWord = 24

    let served: ServedAdapter
    let addresses: RecordAddresses
    let page: RecordPage
    /// The cursor's text.
    let next: String?
    let list: ListQuery
    let links: FormatLinks

    private var entity: Entity { addresses.entity }
    private var target: RequestTarget { links.target }

    var html: HTML {
        .document(
            title: "\(entity.name) · \(served.declaration.title)", .init(isWide: true),
            body: [
                .element("p", [.init("class", "trail")], [served.frontPageLink]),
                .element("h1", .text(entity.name.text)),
                .element("p", [.init("class", "lead")], [.text(entity.summary)]),
                RecordTools(entity: entity, target: target).html, counts,
                page.records.isEmpty ? nothing : .scrolling(table, label: "Records"), pages,
                .element(
                    "p", [.init("class", "note")],
                    [
                        .text("Read by \(AccessWords.phrase(.reads, entity, served)) "),
                        .text("Written by \(AccessWords.phrase(.writes, entity, served))"),
                    ]), links.html,
            ].compactMap(\.self))
    }

    /// The number of records, and the filter that is in force, with the way to be without it.
    private var counts: HTML {
        let shown = page.records.count
        let total = page.total ?? shown
        let words = total == 1 ? "1 record" : "\(Self.grouped(total)) records"
        let rest = shown < total ? "· \(shown) of them here" : ""
        var parts = [HTML.element("span", .element("strong", .text(words)), .text(rest))]
        if let filter = target["filter"] {
            parts.append(
                .element("span", .text("where "), .code(ValueMarkup.cut(filter)), .text(" "), removal("filter")))
        }
        if let words = target["search"] {
            parts.append(.element("span", .text("with “\(ValueMarkup.cut(words))” "), removal("search")))
        }
        return .element("p", [.init("class", "counts")], parts)
    }

    private func removal(_ name: String) -> HTML {
        .link(
            target.address(setting: [(name, nil), ("cursor", nil)]), [.init("aria-label", "remove the \(name)")],
            [.text("remove")])
    }

    private var nothing: HTML {
        let isNarrowed = target["filter"] != nil || target["search"] != nil
        return .element(
            "p", [.init("class", "nothing")],
            [.text(isNarrowed ? "No record fits." : "There is no record that you may read.")])
    }

    private var pages: HTML? {
        var links: [HTML] = []
        if target["cursor"] != nil {
            links.append(.link(target.address(setting: [("cursor", nil)]), [.init("class", "button")], ["First page"]))
        }
        if let next {
            let address = target.address(setting: [("cursor", next)])
            links.append(.link(address, [.init("class", "button main"), .init("rel", "next")], ["Next page"]))
        }
        return links.isEmpty
            ? nil : .element("nav", [.init("class", "row"), .init("aria-label", "Pages")], links)
    }

    // Roles are given where a narrow screen lays the table out as a list: browsers forget them there.
    private var table: HTML {
        .element(
            "table",
            [.init("class", "records"), .init("role", "table"), .init("aria-label", entity.name.text)],
            [
                .element(
                    "thead", [.init("role", "rowgroup")],
                    [.element("tr", [.init("role", "row")], columns.map(head))]),
                .element("tbody", [.init("role", "rowgroup")], page.records.map(row)),
            ])
    }

    /// The key first, in the order of the declaration.
    private var columns: [Field] {
        let chosen = list.select.map { names in names.compactMap(entity.field) } ?? entity.fields
        let key = entity.fields.filter { $0.name == entity.key.field }
        return Array((key + chosen.filter { $0.name != entity.key.field }).prefix(ValueMarkup.maximumColumns))
    }

    private func head(_ field: Field) -> HTML {
        var attributes: [HTML.Attribute] = [.init("scope", "col"), .init("role", "columnheader")]
        if field.shape.isNumeric { attributes.append(.init("class", "number")) }
        guard field.isSortable, field.shape.isSortable else {
            return .element("th", attributes, [.text(field.name.text)])
        }
        let first = list.query.order.first
        let isDescending = first?.field == field.name ? first?.isDescending : nil
        if let isDescending { attributes.append(.init("aria-sort", isDescending ? "descending" : "ascending")) }
        let order = isDescending == false ? "-\(field.name)" : field.name.text
        let mark = isDescending.map { $0 ? " ↓" : " ↑" } ?? ""
        return .element(
            "th", attributes,
            [.link(target.address(setting: [("order", order), ("cursor", nil)]), field.name.text + mark)])
    }

    private func row(_ record: Record) -> HTML {
        let (first, rest) = (columns.first, columns.dropFirst())
        let name = first.map { ValueMarkup.text(value(record, $0)) } ?? record.id.text
        let heading = HTML.element(
            "th", [.init("scope", "row"), .init("role", "rowheader")],
            [.link(addresses.record(record.id.text), ValueMarkup.cut(name))])
        return .element("tr", [.init("role", "row")], [heading] + rest.map { cell(record, $0) })
    }

    private func cell(_ record: Record, _ field: Field) -> HTML {
        let value = value(record, field)
        var attributes: [HTML.Attribute] = [.init("role", "cell"), .init("data-label", field.name.text)]
        if value.isNull || value == .string("") || value == .array([]) {
            return .element("td", attributes + [.init("class", "empty")], [])
        }
        let address = addresses.reference(field.name, value)
        if address != nil {
            attributes.append(.init("class", "reference"))
        } else if field.shape.isNumeric {
            attributes.append(.init("class", "number"))
        } else if ValueMarkup.text(value).utf8.count <= Self.longestWord {
            attributes.append(.init("class", "word"))
        }
        guard let address else {
            return .element("td", attributes, [ValueMarkup.line(value)])
        }
        attributes.append(.init("title", ValueMarkup.text(value)))
        return .element("td", attributes, [.link(address, ValueMarkup.text(value))])
    }

    private func value(_ record: Record, _ field: Field) -> WireValue { record.fields[field.name.text] ?? .null }

    /// `100,000`
    private static func grouped(_ number: Int) -> String {
        let digits = Array(String(number))
        return digits.indices.map { index in
            let isAhead = index > 0 && (digits.count - index).isMultiple(of: 3)
            return (isAhead ? "," : "") + String(digits[index])
        }.joined()
    }
}

/// The form above a list of records: search, one comparison to filter by, order.
private struct RecordTools {
    let entity: Entity
    let target: RequestTarget

    var html: HTML {
        let kept = ["filter", "select", "limit"].compactMap { name in
            target[name].map { HTML.input("hidden", name, value: $0) }
        }
        return .element(
            "form", [.init("class", "tools"), .init("method", "get"), .init("action", target.path)],
            kept + [search, filter, order, send].compactMap(\.self))
    }

    private var send: HTML { .element("p", .element("button", [.init("class", "main")], ["Show"])) }

    private var search: HTML? {
        guard !entity.searchFields.isEmpty else { return nil }
        return .element(
            "p", Self.label("search", "Search"),
            .input("search", "search", value: target["search"] ?? "", [.init("id", "search")]))
    }

    private var filter: HTML? {
        let fields = entity.fields.filter { $0.isFilterable && $0.shape.isFilterable }
        guard !fields.isEmpty else { return nil }
        let title = fields.first { $0.name != entity.key.field && $0.shape.isText } ?? fields.first
        return .element(
            "fieldset", .element("legend", "Filter"),
            Self.select(
                "field", "Field", fields.map { ($0.name.text, $0.name.text) }, chosen: title?.name.text),
            Self.select(
                "comparison", "Comparison", RecordFilterForm.Comparison.allCases.map { ($0.rawValue, $0.words) },
                chosen: nil),
            .input("text", "value", value: "", [.init("aria-label", "Value"), .init("autocomplete", "off")]))
    }

    private var order: HTML {
        let fields = entity.fields.filter { $0.isSortable && $0.shape.isSortable }
        let options = fields.flatMap { field in
            [(field.name.text, field.name.text), ("-\(field.name)", "\(field.name), descending")]
        }
        return .element(
            "p", Self.label("order", "Order"),
            Self.select("order", nil, [("", "as stored")] + options, chosen: target["order"]))
    }

    private static func label(_ id: String, _ words: String) -> HTML {
        .element("label", [.init("for", id)], [.text(words)])
    }

    private static func select(
        _ name: String, _ label: String?, _ options: [(value: String, words: String)], chosen: String?
    ) -> HTML {
        let naming = label.map { HTML.Attribute("aria-label", $0) } ?? HTML.Attribute("id", name)
        let items = options.map { option in
            var attributes = [HTML.Attribute("value", option.value)]
            if option.value == chosen { attributes.append(HTML.Attribute("selected")) }
            return HTML.element("option", attributes, [.text(option.words)])
        }
        return .element("select", [HTML.Attribute("name", name), naming], items)
    }
}

/// The form of ``RecordListPage``, as the parameters of a list: `field`, `comparison` and `value` become a part of
/// `filter`, and what was left empty is left out.
struct RecordFilterForm: Sendable {
    enum Comparison: String, CaseIterable {
        case contains, eq, ne, startsWith, gt, ge, lt, le

        var words: String {
            switch self {
            case .contains: "contains"
            case .eq: "is"
            case .ne: "is not"
            case .startsWith: "begins with"
            case .gt: "is more than"
            case .ge: "is at least"
            case .lt: "is less than"
            case .le: "is at most"
            }
        }
    }

    /// Where the browser is sent on to; nil where the request is none of the form.
    static func address(_ target: RequestTarget, _ entity: Entity) -> String? {
        guard let comparison = target["comparison"].flatMap(Comparison.init(rawValue:)) else { return nil }
        var settings: [(name: String, value: String?)] = [
            ("field", nil), ("comparison", nil), ("value", nil), ("cursor", nil),
        ]
        for name in ["search", "order"] where target[name]?.isEmpty == true { settings.append((name, nil)) }
        let field = target["field"].flatMap { FieldName($0) }.flatMap(entity.field)
        if let field, let value = target["value"], !value.isEmpty {
            let term = term(field, comparison, value)
            settings.append(("filter", target["filter"].map { "(\($0)) and \(term)" } ?? term))
        }
        return target.address(setting: settings)
    }

    /// A part of a filter (``FilterParser``).
    private static func term(_ field: Field, _ comparison: Comparison, _ value: String) -> String {
        let isDay = field.shape == .date && value.utf8.count == 10
        let text = (isDay ? "\(value)T00:00:00Z" : value).replacing("'", with: "''")
        switch comparison {
        case .contains where field.shape.isText, .startsWith: return "\(comparison.rawValue)(\(field.name), '\(text)')"
        case .contains where field.shape.isList: return "has(\(field.name), '\(text)')"
        case .contains: return "\(field.name) eq '\(text)'"
        default: return "\(field.name) \(comparison.rawValue) '\(text)'"
        }
    }
}

/// One record for people: each field with what it means, references as links. It runs no script.
struct SingleRecordPage: Sendable {
    let served: ServedAdapter
    let addresses: RecordAddresses
    let record: Record
    let links: FormatLinks

    var html: HTML {
        .document(
            title: "\(record.id) · \(addresses.entity.name)",
            body: [
                .element(
                    "p", [.init("class", "trail")],
                    [
                        served.frontPageLink, .text(" › "),
                        .link(addresses.collection, addresses.entity.name.text),
                    ]),
                .element("h1", .text(ValueMarkup.cut(record.id.text))),
                .element(
                    "table", [.init("class", "fields"), .init("aria-label", "Fields")],
                    [.element("tbody", addresses.entity.fields.map(row))]), links.html,
            ])
    }

    private func row(_ field: Field) -> HTML {
        let value = record.fields[field.name.text] ?? .null
        let content =
            addresses.reference(field.name, value).map { .link($0, ValueMarkup.text(value)) }
            ?? ValueMarkup.content(value, 1)
        let summary = field.summary.replacing("`", with: "")
        let meaning = summary.isEmpty ? [] : [HTML.element("small", .text(summary))]
        return .element(
            "tr", .element("th", [.init("scope", "row")], [.text(field.name.text)] + meaning), .element("td", content))
    }
}

extension Shape {
    fileprivate var isText: Bool {
        switch self {
        case .string, .choice: true
        default: false
        }
    }

    fileprivate var isList: Bool {
        if case .list = self { true } else { false }
    }

    fileprivate var isNumeric: Bool {
        switch self {
        case .integer, .double, .decimal: true
        default: false
        }
    }

    fileprivate var isSortable: Bool {
        switch self {
        case .bool, .integer, .double, .decimal, .string, .choice, .date: true
        case .any, .data, .list, .object: false
        }
    }

    fileprivate var isFilterable: Bool {
        if case .list(let item) = self { return item.isText }
        return isSortable
    }
}
