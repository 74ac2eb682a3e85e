import AdapterKit
import ODataLanguage
import ODataModel
import ODataRecords

// `topcount`, `topsum`, `toppercent` and their opposites. Data Aggregation 4.0, section 3.3.
extension Applier {
    func ranked(
        _ rows: AppliedRows, _ ranking: Transformation.Ranking, _ amount: Expression, _ value: Expression
    ) throws(QueryProblem) -> AppliedRows {
        var result = try settled(rows)
        if !result.joined.isEmpty { result = flattened(result) }
        let number = try self.amount(amount, of: ranking, on: result.ground)
        let measure = try reader.read(value, on: result.ground)
        guard let type = measure.type, reader.model.family(of: type) == .number else {
            throw QueryProblem("A number is expected.", at: value.range)
        }
        let isTop = [.topcount, .topsum, .toppercent].contains(ranking)
        result.order = [RowOrder(measure.expression, descending: isTop)] + result.tieBreak
        switch ranking {
        case .topcount, .bottomcount:
            guard let count = number.int64Value else {
                throw QueryProblem("A whole number is expected.", at: amount.range)
            }
            result.limit = Int(min(count, Int64(Int32.max)))
            return try settled(result)
        case .topsum, .bottomsum: return cut(result, measure.expression) { _ in .call(.toDouble, [.value(number)]) }
        case .toppercent, .bottompercent:
            let share = RowExpression.arithmetic(.divide, .call(.toDouble, [.value(number)]), .value(.double(100)))
            return cut(result, measure.expression) { all in .arithmetic(.multiply, all, share) }
        }
    }

    /// A sum may be nothing; counts and shares are positive.
    private func amount(
        _ amount: Expression, of ranking: Transformation.Ranking, on ground: ExpressionScope
    ) throws(QueryProblem) -> WireValue {
        let wanted = try reader.read(amount, on: ground)
        let isSum = ranking == .topsum || ranking == .bottomsum
        guard case .value(let number) = wanted.expression, let decimal = number.decimalValue, !decimal.isNegative,
            isSum || !decimal.isZero
        else { throw QueryProblem("A \(isSum ? "sum" : "positive number") is expected.", at: amount.range) }
        return number
    }

    /// The first rows in order that together reach the sum, of each owner's: those before which it is not reached.
    /// `limit`: the sum to be reached, from that of all.
    private func cut(
        _ rows: AppliedRows, _ measure: RowExpression, at limit: (RowExpression) -> RowExpression
    ) -> AppliedRows {
        let sums: [RowExpression] = [
            .sumBefore(measure, by: rows.owner, order: rows.order), .sumWithin(measure, by: rows.owner),
        ]
        var (result, found) = rows.carrying(sums, self)
        result.condition = .compare(.less, found[0], limit(found[1]))
        return result
    }
}
