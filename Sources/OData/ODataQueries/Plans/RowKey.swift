import AdapterKit

/// Values that tell to which row another belongs: most often one number.
struct RowKey: Hashable {
    /// Equal for equal numbers, whatever their kind.
    private enum Part: Hashable {
        case number(Int64)
        case text(String)
        /// Of a kind that is rarely a key.
        case other(String)

        init(_ value: WireValue) {
            switch value {
            case .int64(let number): self = .number(number)
            case .string(let text): self = .text(text)
            case .decimal(let number): self = number.narrowed.map { Part($0) } ?? .other("m\(number)")
            case .double(let number): self = Int64(exactly: number).map { .number($0) } ?? .other("d\(number)")
            case .date(let instant): self = .other("z\(instant.secondsSinceReferenceDate)")
            default: self = .other("\(value)")
            }
        }
    }

    private let first: Part?
    private let rest: [Part]
    let hasNull: Bool

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

/// Where each owner's rows are among those of all, which most often lie together.
struct RowsByOwner {
    /// Runs of rows of one owner that follow each other.
    private var runs: [RowKey: [Range<Int>]] = [:]

    /// `columns` hold the owner of each row.
    init(_ rows: [ResultRow], at columns: Range<Int>) {
        guard let first = rows.first else { return }
        var (owner, start) = (RowKey(first, at: columns), 0)
        for position in rows.indices.dropFirst() {
            let other = RowKey(rows[position], at: columns)
            guard other != owner else { continue }
            runs[owner, default: []].append(start..<position)
            (owner, start) = (other, position)
        }
        runs[owner, default: []].append(start..<rows.count)
    }

    /// In their order. What has a null belongs to nobody.
    func rows(of owner: RowKey, among rows: [ResultRow]) -> [ResultRow] {
        guard !owner.hasNull, let own = runs[owner] else { return [] }
        return own.count == 1 ? Array(rows[own[0]]) : own.flatMap { rows[$0] }
    }
}
