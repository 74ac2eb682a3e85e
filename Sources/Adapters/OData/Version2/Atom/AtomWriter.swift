import AdapterKit
import ODataModel
import ODataQueries
import ODataRecords

/// Feeds and entries.
struct AtomWriter {
    private let scope: Version2Scope
    private let values: AtomValues
    /// When the entries changed is not kept; Atom wants an instant all the same.
    private let updated: [UInt8]

    init(_ scope: Version2Scope) {
        self.scope = scope
        values = AtomValues(model: scope.model)
        updated = Array(
            "<updated>\(scope.now.rfc3339 ?? "1970-01-01T00:00:00Z")</updated><author><name/></author>".utf8)
    }

    func write(_ feed: Version2Feed, to output: inout XMLOutput) {
        begin(feed.level, count: feed.count, hasTombstones: !feed.removed.isEmpty, to: &output)
        let level = AtomLevel(feed.level, model: scope.model)
        for row in feed.rows { inner(row, level, to: &output) }
        for address in feed.removed { tombstone(address, to: &output) }
        end(next: feed.next, delta: feed.delta, to: &output)
    }

    /// A feed up to its first entry.
    func begin(_ level: Version2Level, count: Int?, hasTombstones: Bool = false, to output: inout XMLOutput) {
        output.begin("feed", root)
        if hasTombstones { output.attribute("xmlns:at", AtomName.tombstones) }
        let path = String(scope.relative.prefix { $0 != "?" })
        head(id: scope.root + path, title: level.table.source, to: &output)
        output.element("link", [("rel", "self"), ("title", level.table.source), ("href", path)])
        if let count { output.element("m:count", text: String(count)) }
    }

    func end(next: String?, delta: String?, to output: inout XMLOutput) {
        if let next { output.element("link", [("rel", "next"), ("href", next)]) }
        if let delta { output.element("link", [("rel", "delta"), ("href", delta)]) }
        output.end()
    }

    func write(_ entry: Version2Entry, to output: inout XMLOutput) {
        output.begin("entry", root)
        content(of: entry.row, AtomLevel(entry.level, model: scope.model), to: &output)
        output.end()
    }

    private var root: [(name: String, value: String)] {
        [
            ("xml:base", scope.root), ("xmlns", AtomName.atom), ("xmlns:m", Version2Namespace.metadata),
            ("xmlns:d", Version2Namespace.data),
        ]
    }

    private func head(id: String, title: String, to output: inout XMLOutput) {
        output.element("id", text: id)
        output.element("title", [("type", "text")], text: title)
        output.raw(updated)
    }

    private func content(of row: ResultRow, _ level: AtomLevel, to output: inout XMLOutput) {
        let kind = level.kind(of: row)
        let path = level.level.path(of: row)
        if let tag = level.level.tag(of: row) { output.attribute("m:etag", tag) }
        head(id: scope.root + path, title: path, to: &output)
        output.raw(kind.category)
        link(kind.edit, path, to: &output)
        for navigation in kind.navigation { related(navigation, row, path, to: &output) }
        if kind.isMedia {
            let (type, source) = (level.level.mediaType(of: row), "\(path)/$value")
            output.element("link", [("rel", "edit-media"), ("type", type), ("href", source)])
            output.element("content", [("type", type), ("src", source)])
            properties(of: row, kind, to: &output)
        } else {
            output.raw(Self.contentStart)
            properties(of: row, kind, to: &output)
            output.raw(Self.contentEnd)
        }
    }

    private func link(_ link: AtomKind.Link, _ path: String, to output: inout XMLOutput) {
        output.raw(link.before)
        output.rawValue(path)
        output.raw(link.after)
    }

    private func related(
        _ navigation: AtomKind.Navigation, _ row: ResultRow, _ path: String, to output: inout XMLOutput
    ) {
        link(navigation.link, path, to: &output)
        guard let (position, level) = navigation.expansion else { return }
        let rows = row.expanded.indices.contains(position) ? row.expanded[position].rows : []
        if navigation.isCollection {
            output.begin("feed")
            head(id: "\(scope.root)\(path)/\(navigation.name)", title: level.level.table.source, to: &output)
            for row in rows { inner(row, level, to: &output) }
            output.end()
        } else if let row = rows.first {
            inner(row, level, to: &output)
        }
        output.raw(Self.inlineEnd)
    }

    /// An entry in a feed.
    func inner(_ row: ResultRow, _ level: AtomLevel, to output: inout XMLOutput) {
        output.begin("entry")
        content(of: row, level, to: &output)
        output.end()
    }

    private static let contentStart = Array("<content type=\"application/xml\">".utf8)
    private static let contentEnd = Array("</content>".utf8)
    private static let inlineEnd = Array("</m:inline></link>".utf8)

    private func properties(of row: ResultRow, _ kind: AtomKind, to output: inout XMLOutput) {
        output.begin("m:properties")
        for property in kind.properties { values.write(row.values[property.position], property, to: &output) }
        output.end()
    }

    private func tombstone(_ address: String, to output: inout XMLOutput) {
        output.element(
            "at:deleted-entry", [("ref", address), ("when", scope.now.rfc3339 ?? "1970-01-01T00:00:00Z")])
    }
}
