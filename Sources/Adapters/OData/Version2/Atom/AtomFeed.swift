import AdapterKit
import ODataModel
import ODataQueries

/// A feed in Atom.
struct AtomFeed: Version2FeedWriter {
    private let writer: AtomWriter
    private let feed: Version2Level
    private let level: AtomLevel
    private var output = XMLOutput(capacity: 4_096)

    init(_ level: Version2Level, in scope: Version2Scope) {
        writer = AtomWriter(scope)
        feed = level
        self.level = AtomLevel(level, model: scope.model)
    }

    var mediaType: String { AtomType.feed }

    mutating func begin(count: Int?) { writer.begin(feed, count: count, to: &output) }

    mutating func write(_ row: ResultRow) { writer.inner(row, level, to: &output) }

    mutating func end(next: String?, delta: String?) { writer.end(next: next, delta: delta, to: &output) }

    mutating func take() throws(PorticoError) -> [UInt8] {
        guard output.isRepresentable else { throw Atom.notRepresentable }
        return output.take()
    }
}
