import AdapterKit

/// Where each owner's rows are among those of all, which most often lie together.
struct RowsByOwner {
    private enum Places {
        /// The owners are numbers and come in their order, as a store gives them: where each one's rows begin.
        case inOrder([(owner: Int64, start: Int)])
        /// Runs of rows of one owner that follow each other.
        case anywhere([RowKey: [Range<Int>]])
    }

    private let places: Places

    /// `columns` hold the owner of each row.
    init(_ rows: [ResultRow], at columns: Range<Int>) {
        places = Self.inOrder(rows, at: columns).map(Places.inOrder) ?? .anywhere(Self.runs(rows, at: columns))
    }

    /// In their order. What has a null belongs to nobody.
    func rows(of owner: RowKey, among rows: [ResultRow]) -> [ResultRow] {
        guard !owner.hasNull else { return [] }
        switch places {
        case .inOrder(let starts):
            guard let number = owner.number, let place = Self.place(of: number, in: starts) else { return [] }
            return Array(rows[starts[place].start..<(place + 1 < starts.count ? starts[place + 1].start : rows.count)])
        case .anywhere(let runs):
            guard let own = runs[owner] else { return [] }
            return own.count == 1 ? Array(rows[own[0]]) : own.flatMap { rows[$0] }
        }
    }

    /// Nil where it is otherwise.
    private static func inOrder(_ rows: [ResultRow], at columns: Range<Int>) -> [(owner: Int64, start: Int)]? {
        guard columns.count == 1, let column = columns.first else { return nil }
        var starts: [(owner: Int64, start: Int)] = []
        for position in rows.indices {
            guard case .int64(let owner) = rows[position].values[column] else { return nil }
            if let last = starts.last {
                if last.owner == owner { continue }
                guard last.owner < owner else { return nil }
            }
            starts.append((owner, position))
        }
        return starts
    }

    private static func place(of owner: Int64, in starts: [(owner: Int64, start: Int)]) -> Int? {
        var (low, high) = (0, starts.count)
        while low < high {
            let middle = (low + high) / 2
            if starts[middle].owner < owner { low = middle + 1 } else { high = middle }
        }
        return low < starts.count && starts[low].owner == owner ? low : nil
    }

    private static func runs(_ rows: [ResultRow], at columns: Range<Int>) -> [RowKey: [Range<Int>]] {
        guard let first = rows.first else { return [:] }
        var runs: [RowKey: [Range<Int>]] = [:]
        var (owner, start) = (RowKey(first, at: columns), 0)
        for position in rows.indices.dropFirst() {
            let other = RowKey(rows[position], at: columns)
            guard other != owner else { continue }
            runs[owner, default: []].append(start..<position)
            (owner, start) = (other, position)
        }
        runs[owner, default: []].append(start..<rows.count)
        return runs
    }
}
