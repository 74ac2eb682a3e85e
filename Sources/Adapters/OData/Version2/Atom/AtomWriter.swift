import AdapterKit
import ODataModel
import ODataQueries
import ODataRecords

/// Feeds and entries.
struct AtomWriter {
    private let scope: Version2Scope
    private let answer: AtomRows.Answer

    init(_ scope: Version2Scope) {
        self.scope = scope
        answer = AtomRows.Answer(scope)
    }

    func write(_ feed: Version2Feed, to output: inout XMLOutput) {
        let rows = AtomRows(feed.level, model: scope.model)
        begin(rows.source, count: feed.count, hasTombstones: !feed.removed.isEmpty, to: &output)
        for row in feed.rows { rows.level.write(row, answer, to: &output) }
        for address in feed.removed { tombstone(address, to: &output) }
        end(next: feed.next, delta: feed.delta, to: &output)
    }

    /// A feed up to its first entry.
    func begin(_ source: String, count: Int?, hasTombstones: Bool = false, to output: inout XMLOutput) {
        output.begin("feed", root)
        if hasTombstones { output.attribute("xmlns:at", AtomName.tombstones) }
        let path = String(scope.relative.prefix { $0 != "?" })
        head(id: scope.root + path, title: source, to: &output)
        output.element("link", [("rel", "self"), ("title", source), ("href", path)])
        if let count { output.element("m:count", text: String(count)) }
    }

    func end(next: String?, delta: String?, to output: inout XMLOutput) {
        if let next { output.element("link", [("rel", "next"), ("href", next)]) }
        if let delta { output.element("link", [("rel", "delta"), ("href", delta)]) }
        output.end()
    }

    func write(_ entry: Version2Entry, to output: inout XMLOutput) {
        output.begin("entry", root)
        if let tag = entry.level.tag(of: entry.row) { output.attribute("m:etag", tag) }
        let level = AtomRows(entry.level, model: scope.model).level
        level.template(of: entry.row).content(of: entry.row, answer, to: &output)
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
        output.raw(answer.updated)
    }

    private func tombstone(_ address: String, to output: inout XMLOutput) {
        output.element(
            "at:deleted-entry", [("ref", address), ("when", scope.now.rfc3339 ?? "1970-01-01T00:00:00Z")])
    }
}
