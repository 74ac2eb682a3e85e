import AdapterKit
import ODataLanguage
import ODataModel
import ODataRecords

// `topcount`, `topsum`, `toppercent` and their opposites. Data Aggregation 4.0, section 3.3.
extension Applier {
    func ranked(
        _ rows: AppliedRows, _ ranking: Transformation.Ranking, _ amount: Expression, _ value: Expression
    ) throws(QueryProblem) -> AppliedRows {
        var result = settled(rows)
        let wanted = try reader.read(amount, on: result.ground)
        guard case .value(let number) = wanted.expression, let decimal = number.decimalValue, !decimal.isNegative else {
            throw QueryProblem("A number that is not negative is expected.", at: amount.range)
        }
        let isTop = [.topcount, .topsum, .toppercent].contains(ranking)
        let measure = try reader.read(value, on: result.ground).expression
        result.order = [RowOrder(measure, descending: isTop)] + tieBreak(result)
        guard [.topcount, .bottomcount].contains(ranking) else {
            throw QueryProblem("\(ranking.rawValue) is not supported.", at: value.range, kind: .notSupported)
        }
        guard let count = number.int64Value else {
            throw QueryProblem("A whole number is expected.", at: amount.range)
        }
        result.limit = Int(min(count, Int64(Int32.max)))
        return settled(result)
    }

    private func tieBreak(_ rows: AppliedRows) -> [RowOrder] {
        switch rows.content {
        case .entities(let place): [RowOrder(.field(place.source, place.table.keyField))]
        case .columns(let columns): columns.map { RowOrder($0.meaning.expression) }
        }
    }
}
