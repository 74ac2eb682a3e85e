import AdapterKit
import ODataModel
import ODataQueries
import ODataRecords

/// Documents in version 2's JSON.
struct Version2JSONWriter: Sendable {
    let scope: Version2Scope
    private let values: Version2JSONValues
    private let answer: Version2JSONRows.Answer

    init(scope: Version2Scope) {
        self.scope = scope
        values = Version2JSONValues(model: scope.model)
        answer = Version2JSONRows.Answer(root: scope.root)
    }

    func bytes(_ content: Version2Content) -> [UInt8] {
        var output = JSONOutput()
        output.beginObject()
        output.key("d")
        write(content, to: &output)
        output.endObject()
        return output.bytes
    }

    private func write(_ content: Version2Content, to output: inout JSONOutput) {
        switch content {
        case .service(let sets):
            output.beginObject()
            output.key("EntitySets")
            output.beginArray()
            for set in sets { output.string(set) }
            output.endArray()
            output.endObject()
        case .feed(let feed): write(feed, to: &output)
        case .entry(let entry):
            let rows = Version2JSONRows(entry.level, model: scope.model)
            rows.level.write(entry.row, answer, to: &output)
        case .property(let property): write(property, to: &output)
        case .links(let links): write(links, to: &output)
        case .nothing, .raw, .stored, .written: output.null()
        }
    }

    private func write(_ feed: Version2Feed, to output: inout JSONOutput) {
        begin(count: feed.count, to: &output)
        let rows = Version2JSONRows(feed.level, model: scope.model)
        for row in feed.rows { rows.level.write(row, answer, to: &output) }
        for address in feed.removed { removed(address, feed.level, to: &output) }
        end(next: feed.next, delta: feed.delta, to: &output)
    }

    /// A feed up to its first entry.
    func begin(count: Int?, to output: inout JSONOutput) {
        output.beginObject()
        if let count { output.member("__count", String(count)) }
        output.key("results")
        output.beginArray()
    }

    func end(next: String?, delta: String?, to output: inout JSONOutput) {
        output.endArray()
        if let next { output.member("__next", next) }
        if let delta { output.member("__delta", delta) }
        output.endObject()
    }

    /// Version 2 has no words for it, and SAP's own gateway says nothing in JSON; these are version 4's as Olingo's
    /// services of version 2 say them.
    private func removed(_ address: String, _ level: Version2Level, to output: inout JSONOutput) {
        output.beginObject()
        output.member("@odata.context", "$metadata#\(level.table.source)/$deletedEntity")
        output.member("id", address)
        output.endObject()
    }

    private func write(_ property: Version2Property, to output: inout JSONOutput) {
        output.beginObject()
        output.key(property.name)
        values.write(property.value, property.type, to: &output)
        output.endObject()
    }

    private func write(_ links: Version2Links, to output: inout JSONOutput) {
        guard links.isCollection else { return link(links.addresses.first ?? "", to: &output) }
        output.beginObject()
        if let count = links.count { output.member("__count", String(count)) }
        output.key("results")
        output.beginArray()
        for address in links.addresses { link(address, to: &output) }
        output.endArray()
        if let next = links.next { output.member("__next", next) }
        output.endObject()
    }

    private func link(_ address: String, to output: inout JSONOutput) {
        output.beginObject()
        output.member("uri", address)
        output.endObject()
    }
}
