import AdapterKit
import ODataModel
import ODataQueries

/// A feed in version 2's JSON.
struct Version2JSONFeed: Version2FeedWriter {
    private let writer: Version2JSONWriter
    private let level: RowLevel<Version2JSONRows.Form>
    private let answer: Version2JSONRows.Answer
    private var output: JSONOutput

    init(_ level: RowLevel<Version2JSONRows.Form>, in scope: Version2Scope, to sink: DocumentSink) {
        output = JSONOutput(to: sink)
        writer = Version2JSONWriter(scope: scope)
        answer = Version2JSONRows.Answer(root: scope.root)
        self.level = level
    }

    mutating func begin(count: Int?) {
        output.beginObject()
        output.key("d")
        writer.begin(count: count, to: &output)
    }

    mutating func write(_ row: ResultRow) {
        guard output.goesOn() else { return }
        level.write(row, answer, to: &output)
    }

    mutating func write(_ row: FlatRow) throws { try level.write(row, answer, to: &output) }

    mutating func end(next: String?, delta: String?) {
        writer.end(next: next, delta: delta, to: &output)
        output.endObject()
    }

    mutating func flush() throws { try output.flush() }
}
