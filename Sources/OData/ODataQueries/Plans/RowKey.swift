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
