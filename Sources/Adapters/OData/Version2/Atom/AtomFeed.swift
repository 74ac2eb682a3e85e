import AdapterKit
import ODataModel
import ODataQueries

/// A feed in Atom.
struct AtomFeed: Version2FeedWriter {
    private let writer: AtomWriter
    private let rows: AtomRows
    private let answer: AtomRows.Answer
    private var output: XMLOutput

    init(_ rows: AtomRows, in scope: Version2Scope, to sink: DocumentSink) {
        output = XMLOutput(capacity: 4_096, to: sink)
        writer = AtomWriter(scope)
        answer = AtomRows.Answer(scope)
        self.rows = rows
    }

    mutating func begin(count: Int?) { writer.begin(rows.source, count: count, to: &output) }

    mutating func write(_ row: ResultRow) {
        guard output.goesOn() else { return }
        rows.level.write(row, answer, to: &output)
    }

    mutating func write(_ row: FlatRow) throws { try rows.level.write(row, answer, to: &output) }

    mutating func end(next: String?, delta: String?) { writer.end(next: next, delta: delta, to: &output) }

    mutating func flush() throws {
        guard output.isRepresentable else { throw Atom.notRepresentable }
        try output.flush()
    }
}
