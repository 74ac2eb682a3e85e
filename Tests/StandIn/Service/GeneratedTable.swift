import AdapterKit

/// Rows that are made from their position when they are read. Only what was written is stored, so that a million rows cost
/// nothing. A value type; every write has the next revision.
struct GeneratedTable<Row: Sendable>: Sendable {
    /// A row that was written; nil: it was deleted.
    private struct Written: Sendable {
        var row: Row?
        var revision: Int64
    }

    /// A row's last write.
    struct Change: Sendable {
        let position: Int
        /// Nil: it was deleted.
        let row: Row?
        let revision: Int64
    }

    /// How many rows there were at first.
    let generated: Int
    private let make: @Sendable (Int) -> Row
    /// The revision of the last write, 0 before the first.
    private(set) var revision: Int64 = 0
    /// The first position that no row ever had.
    private(set) var end: Int
    private var written: [Int: Written] = [:]
    /// Positions without a row, in order.
    private var deleted: [Int] = []
    /// One entry for each write, the newest last. An entry counts only where no later write of its row follows.
    private var log: [(revision: Int64, position: Int)] = []

    init(_ count: Int, _ make: @escaping @Sendable (Int) -> Row) {
        generated = count
        end = count
        self.make = make
    }

    var count: Int { end - deleted.count }

    /// Where rows are that differ from those at first, in no order.
    var writtenPositions: [Int] { Array(written.keys) }

    func row(at position: Int) -> Row? {
        guard position >= 0, position < end else { return nil }
        guard let written = written[position] else { return make(position) }
        return written.row
    }

    /// The revision of a row's last write; 0 for a row as it was at first.
    func revision(at position: Int) -> Int64 { written[position]?.revision ?? 0 }

    /// A position that had no row ever.
    mutating func append(_ row: Row) -> Int {
        let position = end
        end += 1
        write(row, at: position)
        return position
    }

    /// Replaces a row, or deletes it. The position is one that has or had a row.
    mutating func set(_ row: Row?, at position: Int) {
        let place = deleted.partition(at: position)
        let wasDeleted = place < deleted.count && deleted[place] == position
        if row == nil, !wasDeleted { deleted.insert(position, at: place) }
        if row != nil, wasDeleted { deleted.remove(at: place) }
        write(row, at: position)
    }

    private mutating func write(_ row: Row?, at position: Int) {
        revision += 1
        written[position] = Written(row: row, revision: revision)
        log.append((revision, position))
        // Of many writes of few rows, only the last ones are of use.
        if log.count > 2 * written.count + 1_000 { log.removeAll { written[$0.position]?.revision != $0.revision } }
    }

    /// The position of the row with so many rows before it; `end` where there are not so many.
    func position(after rows: Int) -> Int {
        var position = min(max(rows, 0), end)
        for gap in deleted {
            guard gap <= position else { break }
            position += 1
        }
        return min(position, end)
    }

    /// At most so many rows from a position on, and the position where the next part begins; nil at the end.
    func rows(from start: Int, limit: Int) -> (rows: [(position: Int, row: Row)], next: Int?) {
        var rows: [(position: Int, row: Row)] = []
        var position = max(start, 0)
        while position < end {
            if let row = row(at: position) {
                guard rows.count < limit else { return (rows, position) }
                rows.append((position, row))
            }
            position += 1
        }
        return (rows, nil)
    }

    /// The last writes of rows that were written after a revision, the oldest first, at most so many.
    func changes(since revision: Int64, limit: Int) -> (changes: [Change], isAll: Bool) {
        var (low, high) = (0, log.count)
        while low < high {
            let middle = (low + high) / 2
            if log[middle].revision <= revision { low = middle + 1 } else { high = middle }
        }
        var changes: [Change] = []
        for entry in log[low...] {
            guard let written = written[entry.position], written.revision == entry.revision else { continue }
            guard changes.count < limit else { return (changes, false) }
            changes.append(Change(position: entry.position, row: written.row, revision: entry.revision))
        }
        return (changes, true)
    }
}

extension [Int] {
    /// The first index whose element is not below a value; the elements are in order.
    fileprivate func partition(at value: Int) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if self[middle] < value { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
