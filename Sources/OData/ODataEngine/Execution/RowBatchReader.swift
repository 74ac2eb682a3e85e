import AdapterKit
import ODataLanguage
import ODataModel

/// Reads the rows of a page in batches, reads the expansions of each batch at once and passes the rows on.
///
/// Without expansions a batch is small. With expansions its size adapts to the number of entities that the batch before
/// brought.
struct RowBatchReader {
    private let expander: ExpansionReader
    private let expansions: [ExpansionPlan]
    /// Expanded entities that were given on, each as often as it is written.
    private var written = 0
    private var rows: [ResultRow] = []
    private var size: Int
    /// The number of rows so far.
    private(set) var count = 0
    private(set) var last: ResultRow?

    /// Rows of the first batch: those of most pages.
    static let first = 128
    private static let most = 1_024
    /// Entities in memory at a time, about.
    private static let aim = 4_096

    init(_ expander: ExpansionReader, _ expansions: [ExpansionPlan]) {
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

/// Reads the expanded entities of a level's rows: one query for each property and level, whatever the number of rows.
struct ExpansionReader {
    let snapshot: any RecordSnapshot
    let limits: QueryLimits

    /// Rows that one query covers.
    private static let batch = 8192
    private static let rowsBetweenChecks = 1_024

    /// Throws `request.limitExceeded`.
    func expand(_ rows: inout [ResultRow], _ expansions: [ExpansionPlan]) throws {
        guard try expandWithinLimit(&rows, expansions) else {
            throw PorticoError(
                .requestLimitExceeded,
                "An expansion brings at most \(limits.expandedRows) entities; ask for fewer with $top.")
        }
    }

    /// False where the rows together bring more entities than ``QueryLimits/expandedRows``: fewer rows may not.
    func expandWithinLimit(_ rows: inout [ResultRow], _ expansions: [ExpansionPlan]) throws -> Bool {
        var room = limits.expandedRows
        do {
            for expansion in expansions { try expand(&rows, expansion, &room) }
            return true
        } catch is TooManyEntities {
            return false
        }
    }

    private struct TooManyEntities: Error {}

    private func expand(_ rows: inout [ResultRow], _ expansion: ExpansionPlan, _ room: inout Int) throws {
        var found = try entities(of: rows, expansion, &room)
        let counts = try expansion.level.count.map { try self.counts($0, of: rows, expansion) }
        let owners = RowsByOwner(found, at: expansion.farColumns)
        for inner in expansion.level.expansions { try expand(&found, inner, &room) }
        var written = 0
        for position in rows.indices {
            if position.isMultiple(of: Self.rowsBetweenChecks) { try snapshot.checkCancellation() }
            let key = RowKey(rows[position], at: expansion.near)
            let own = owners.rows(of: key, among: found)
            let count = counts.map { key.hasNull ? 0 : $0[key] ?? 0 }
            let expanded = ExpandedRows(rows: own, count: count)
            // Every level stays below the limit, so the next one's numbers are sums of few small ones.
            written += expanded.entities
            guard written <= limits.writtenRows else { throw limits.tooManyWritten }
            rows[position].expanded.append(expanded)
        }
    }

    private func entities(
        of rows: [ResultRow], _ expansion: ExpansionPlan, _ room: inout Int
    ) throws -> [ResultRow] {
        if expansion.content == .count { return [] }
        var found: [ResultRow] = []
        for values in batches(of: rows, expansion) {
            var relation = narrowed(expansion.level.relation, expansion, values)
            relation.limit = room + 1
            let before = found.count
            try snapshot.rows(relation) { found.append(try ResultRow(reading: $0)) }
            room -= found.count - before
            guard room >= 0 else { throw TooManyEntities() }
        }
        return found
    }

    private func counts(
        _ count: Relation, of rows: [ResultRow], _ expansion: ExpansionPlan
    ) throws -> [RowKey: Int] {
        var counts: [RowKey: Int] = [:]
        let width = expansion.far.count
        for values in batches(of: rows, expansion) {
            let relation = narrowed(count, expansion, values)
            try snapshot.rows(relation) { row in
                let read = try ResultRow(reading: row)
                counts[RowKey(read, at: 0..<width)] = Int(read.values[width].int64Value ?? 0)
            }
        }
        return counts
    }

    private func narrowed(_ relation: Relation, _ expansion: ExpansionPlan, _ values: [WireValue]) -> Relation {
        if let made = expansion.made { return relation.only(values, of: made.sources) }
        var relation = relation
        let belongs = RowExpression.oneOf(expansion.far[0], values)
        relation.condition = relation.condition.map { .all([belongs, $0]) } ?? belongs
        return relation
    }

    /// The values that the first column has, each once; a query by the first of several columns finds rows that the
    /// others leave out, which belong to no row.
    private func batches(of rows: [ResultRow], _ expansion: ExpansionPlan) -> [[WireValue]] {
        // Without columns all there is belongs to the one row.
        guard let first = expansion.near.first else { return rows.isEmpty ? [] : [[]] }
        let values = distinct(rows, first)
        return stride(from: 0, to: values.count, by: Self.batch).map {
            Array(values[$0..<min($0 + Self.batch, values.count)])
        }
    }

    private func distinct(_ rows: [ResultRow], _ column: Int) -> [WireValue] {
        if let numbers = numbers(rows, column) { return numbers }
        var seen: Set<RowKey> = []
        return rows.map { $0.values[column] }.filter { !$0.isNull && seen.insert(RowKey([$0])).inserted }
    }

    /// The same of whole numbers, as most keys are, in their order; nil where there is anything else.
    private func numbers(_ rows: [ResultRow], _ column: Int) -> [WireValue]? {
        var numbers: [Int64] = []
        numbers.reserveCapacity(rows.count)
        for row in rows {
            switch row.values[column] {
            case .int64(let number): numbers.append(number)
            case .null: continue
            default: return nil
            }
        }
        numbers.sort()
        var values: [WireValue] = []
        values.reserveCapacity(numbers.count)
        for (position, number) in numbers.enumerated() where position == 0 || numbers[position - 1] != number {
            values.append(.int64(number))
        }
        return values
    }
}

/// The values that relate a row to its owner, most often one number.
struct RowKey: Hashable {
    /// Equal for equal numbers, whatever their kind.
    private enum Part: Hashable {
        case number(Int64)
        case text(String)
        /// A value of a kind that is rarely a key.
        case other(String)

        init(_ value: WireValue) {
            switch value {
            case .int64(let number): self = .number(number)
            case .string(let text): self = .text(text)
            case .decimal(let number): self = number.narrowed.map { Part($0) } ?? .other("m\(number)")
            case .double(let number): self = Int64(exactly: number).map { .number($0) } ?? .other("d\(number)")
            case .date(let instant): self = .other("z\(instant.ticks).\(instant.attoseconds)")
            default: self = .other("\(value)")
            }
        }
    }

    private let first: Part?
    private let rest: [Part]
    let hasNull: Bool

    /// The key where it is one whole number, as most are.
    var number: Int64? {
        if case .number(let number)? = first, rest.isEmpty { number } else { nil }
    }

    /// Most keys are one number, of which nothing else has to be hashed.
    func hash(into hasher: inout Hasher) {
        if case .number(let number)? = first { hasher.combine(number) } else { hasher.combine(first) }
        for part in rest { hasher.combine(part) }
    }

    init(_ row: ResultRow, at columns: some Sequence<Int>) {
        self.init(columns.lazy.map { row.values[$0] })
    }

    init(_ values: some Sequence<WireValue>) {
        var first: Part?
        var rest: [Part] = []
        var hasNull = false
        for value in values {
            hasNull = hasNull || value.isNull
            if first == nil { first = Part(value) } else { rest.append(Part(value)) }
        }
        self.first = first
        self.rest = rest
        self.hasNull = hasNull
    }
}

/// Finds each owner's rows within the rows of all owners, which are mostly contiguous.
struct RowsByOwner {
    private enum Places {
        /// The owners are numbers and come in their order, as a store gives them: where each one's rows begin.
        case inOrder([(owner: Int64, start: Int)])
        /// Runs of rows of one owner that follow each other.
        case anywhere([RowKey: [Range<Int>]])
    }

    private let entities: Places

    /// `columns` hold the owner of each row.
    init(_ rows: [ResultRow], at columns: Range<Int>) {
        entities = Self.inOrder(rows, at: columns).map(Places.inOrder) ?? .anywhere(Self.runs(rows, at: columns))
    }

    /// In their order. Rows with a null have no owner.
    func rows(of owner: RowKey, among rows: [ResultRow]) -> [ResultRow] {
        guard !owner.hasNull else { return [] }
        switch entities {
        case .inOrder(let starts):
            guard let number = owner.number, let entity = Self.entity(of: number, in: starts) else { return [] }
            return Array(
                rows[starts[entity].start..<(entity + 1 < starts.count ? starts[entity + 1].start : rows.count)])
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

    private static func entity(of owner: Int64, in starts: [(owner: Int64, start: Int)]) -> Int? {
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
