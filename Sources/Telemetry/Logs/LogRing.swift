import AdapterKit

/// The last log lines, in a fixed number of bytes: the oldest go first. A state machine; the log's output holds it
/// under its lock.
///
/// Lines are kept as JSON in one circular buffer, so that keeping one is a copy of its bytes.
public struct LogRing: Sendable {
    /// A line as it was appended.
    public struct Line: Sendable, Equatable {
        /// Counts from 1. A gap before the first that is kept says that lines are gone.
        public let number: UInt64
        public let level: LogLevel
        /// Without the end of the line.
        public let bytes: [UInt8]
    }

    private struct Entry {
        let number: UInt64
        let level: LogLevel
        let severity: Int
        let start: Int
        let count: Int
    }

    private var buffer: [UInt8]
    /// In order; those before ``first`` are gone.
    private var entries: [Entry] = []
    private var first = 0
    /// Where the next line begins.
    private var end = 0
    /// The number of the last line, kept or not.
    public private(set) var last: UInt64 = 0

    /// No line is kept where there is no capacity.
    public init(capacity: Int) {
        buffer = [UInt8](repeating: 0, count: max(0, capacity))
    }

    /// A line longer than a quarter of the capacity is not kept.
    public mutating func append(_ line: some Collection<UInt8>, _ level: LogLevel) {
        last += 1
        let count = line.count
        guard count > 0, count <= buffer.count / 4 else { return }
        if end + count > buffer.count {
            // What is left at the end stays empty.
            removeEntries(from: end, to: buffer.count)
            end = 0
        }
        removeEntries(from: end, to: end + count)
        buffer.replaceSubrange(end..<(end + count), with: line)
        entries.append(Entry(number: last, level: level, severity: level.severity, start: end, count: count))
        end += count
        compact()
    }

    /// Keeps the newest lines that have room in another number of bytes.
    public mutating func resize(to capacity: Int) {
        guard max(0, capacity) != buffer.count else { return }
        let (kept, newest) = (lines(after: 0), last)
        (buffer, entries) = ([UInt8](repeating: 0, count: max(0, capacity)), [])
        (first, end) = (0, 0)
        for line in kept {
            last = line.number - 1
            append(line.bytes, line.level)
        }
        last = newest
    }

    /// The newest lines between two numbers that have a level at least, the oldest of them first. No others are copied: of a
    /// busy log that is read often, most lines are never looked at.
    public func lines(
        after number: UInt64, before next: UInt64 = .max, level: LogLevel = .trace, limit: Int = .max
    ) -> [Line] {
        var (index, high) = (first, entries.count)
        while index < high {
            let middle = (index + high) / 2
            if entries[middle].number < next { index = middle + 1 } else { high = middle }
        }
        let severity = level.severity
        var found: [Line] = []
        while index > first, found.count < limit {
            index -= 1
            let entry = entries[index]
            guard entry.number > number else { break }
            guard entry.severity >= severity else { continue }
            let bytes = Array(buffer[entry.start..<(entry.start + entry.count)])
            found.append(Line(number: entry.number, level: entry.level, bytes: bytes))
        }
        return found.reversed()
    }

    /// The oldest are in the way of what is written next: lines are in the order of their places, with one wrap.
    private mutating func removeEntries(from start: Int, to end: Int) {
        while first < entries.count, entries[first].start < end, entries[first].start + entries[first].count > start {
            first += 1
        }
    }

    private mutating func compact() {
        guard first > 1_024, first > entries.count / 2 else { return }
        entries = Array(entries[first...])
        first = 0
    }
}
