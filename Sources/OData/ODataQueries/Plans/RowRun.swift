import AdapterKit

/// Rows on their way from the store to whoever writes them: gathered, expanded together and given on.
///
/// Without expansions a few suffice. With them each question is for as many rows as brought about as many entities as are
/// good to have in memory the time before.
struct RowRun {
    private let expander: ExpansionRun
    private let expansions: [ExpansionPlan]
    /// Expanded entities that were given on, each as often as it is written.
    private var written = 0
    private var rows: [ResultRow] = []
    private var size: Int
    /// How many rows there were.
    private(set) var count = 0
    private(set) var last: ResultRow?

    /// Rows of the first question: those of most pages.
    static let first = 128
    private static let most = 1_024
    /// Entities in memory at a time, about.
    private static let aim = 4_096

    init(_ expander: ExpansionRun, _ expansions: [ExpansionPlan]) {
        self.expander = expander
        self.expansions = expansions
        size = Self.first
    }

    /// Reads the rows of a page. Returns whether there are more.
    mutating func read(
        _ relation: Relation, upTo limit: Int, at snapshot: any RecordSnapshot, _ receive: ([ResultRow]) throws -> Void
    ) throws -> Bool {
        var relation = relation
        relation.limit = limit + 1
        var hasMore = false
        try snapshot.rows(relation) { row in
            hasMore = count == limit
            if !hasMore { try add(try ResultRow(reading: row), receive) }
        }
        try give(receive)
        return hasMore
    }

    private mutating func add(_ row: ResultRow, _ receive: ([ResultRow]) throws -> Void) throws {
        rows.append(row)
        count += 1
        if rows.count == size { try give(receive) }
    }

    private mutating func give(_ receive: ([ResultRow]) throws -> Void) throws {
        guard let last = rows.last else { return }
        self.last = last
        let brought = expansions.isEmpty ? 0 : try give(rows[...], receive)
        if expansions.isEmpty { try receive(rows) }
        if !expansions.isEmpty { size = min(max(rows.count * Self.aim / max(brought, 1), 1), Self.most) }
        rows.removeAll(keepingCapacity: true)
    }

    /// Returns how many entities there were. Rows that together bring more than may be are asked for apart.
    private mutating func give(_ part: ArraySlice<ResultRow>, _ receive: ([ResultRow]) throws -> Void) throws -> Int {
        var expanded = Array(part)
        if part.count == 1 {
            try expander.expand(&expanded, expansions)
        } else if try !expander.expandWithinLimit(&expanded, expansions) {
            let middle = part.startIndex + part.count / 2
            let before = try give(part[..<middle], receive)
            return try before + give(part[middle...], receive)
        }
        let entities = expanded.reduce(0) { $0 + $1.entities }
        written += entities - expanded.count
        guard written <= expander.limits.writtenRows else { throw expander.limits.tooManyWritten }
        try receive(expanded)
        return entities
    }
}
