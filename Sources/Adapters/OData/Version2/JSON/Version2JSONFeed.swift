import AdapterKit
import ODataQueries

/// A feed in version 2's JSON.
struct Version2JSONFeed: Version2FeedWriter {
    private let writer: Version2JSONWriter
    private let level: Version2Level
    private var output = JSONOutput()

    init(_ writer: Version2JSONWriter, _ level: Version2Level) {
        self.writer = writer
        self.level = level
    }

    var mediaType: String { Version2JSONFormat.mediaType }

    mutating func begin(count: Int?) {
        output.beginObject()
        output.key("d")
        writer.begin(count: count, to: &output)
    }

    mutating func write(_ row: ResultRow) { writer.write(row, level, to: &output) }

    mutating func end(next: String?, delta: String?) {
        writer.end(next: next, delta: delta, to: &output)
        output.endObject()
    }

    mutating func take() -> [UInt8] { output.take() }
}
