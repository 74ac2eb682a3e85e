import AdapterKit
import Synchronization

/// Estimates of a table's rows by SQLite's statistics, since they were made last. They decide how fast an answer
/// comes, never which.
final class TableEstimates: Sendable {
    private struct Values {
        var rows = 0.0
        /// For each index, by its fields: rows that agree in its first field, in its first two, and so on.
        var indexes: [[FieldName]: [Double]] = [:]
    }

    /// The share of rows that a range of an index is taken to have.
    private static let rangeShare = 0.25
    /// The share of rows that agree in an indexed field of a table without statistics.
    private static let equalShare = 0.1

    private let values = Mutex(Values())

    var rows: Double { values.withLock { $0.rows } }

    func set(rows: Double, indexes: [[FieldName]: [Double]]) {
        values.withLock { $0 = Values(rows: rows, indexes: indexes) }
    }

    /// Rows that an index leads to, or all of them. `equal`: with how many values a field is compared.
    func rows(equal: [FieldName: Double], compared: [FieldName: Int], in layout: CollectionLayout) -> Double {
        let values = values.withLock { $0 }
        var least = values.rows
        if let count = equal[layout.entity.key.field] { least = min(least, count) }
        for index in layout.entity.indexes {
            var (rows, counts) = (values.rows, 1.0)
            for (depth, field) in index.fields.enumerated() {
                guard let count = equal[field] else {
                    for _ in 0..<min(compared[field] ?? 0, 2) { rows *= Self.rangeShare }
                    break
                }
                counts *= count
                let averages = values.indexes[index.fields]
                let average = averages.flatMap { $0.indices.contains(depth) ? $0[depth] : nil }
                rows = min(rows, (average ?? max(1, rows * Self.equalShare)) * counts)
            }
            least = min(least, rows)
        }
        return max(least, 1)
    }
}
