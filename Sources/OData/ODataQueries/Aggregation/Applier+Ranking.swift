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
        if !result.joined.isEmpty { result = try flattened(result) }
        let number = try self.amount(amount, of: ranking, on: result.ground)
        let measure = try reader.read(value, on: result.ground)
        guard let type = measure.type, reader.model.family(of: type) == .number else {
            throw QueryProblem("A number is expected.", at: value.range)
        }
        let isCount = ranking == .topcount || ranking == .bottomcount
        guard isCount || result.belonging == nil else {
            throw QueryProblem(
                "Of nested collections only topcount and bottomcount are taken.", at: value.range, kind: .notSupported)
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
        case .topsum, .bottomsum: return cut(result, measure.expression, at: .value(number))
        case .toppercent, .bottompercent:
            let all = RowExpression.call(.toDouble, [.first(result.total(of: measure.expression))])
            let share = RowExpression.arithmetic(.divide, .call(.toDouble, [.value(number)]), .value(.double(100)))
            return cut(result, measure.expression, at: .arithmetic(.multiply, all, share))
        }
    }

    /// A sum may be nothing; counts and shares are positive.
    private func amount(
        _ amount: Expression, of ranking: Transformation.Ranking, on ground: Ground
    ) throws(QueryProblem) -> WireValue {
        let wanted = try reader.read(amount, on: ground)
        let isSum = ranking == .topsum || ranking == .bottomsum
        guard case .value(let number) = wanted.expression, let decimal = number.decimalValue, !decimal.isNegative,
            isSum || !decimal.isZero
        else { throw QueryProblem("A \(isSum ? "sum" : "positive number") is expected.", at: amount.range) }
        return number
    }

    /// The first rows in order that together reach the sum: those before which it is not reached.
    private func cut(_ rows: AppliedRows, _ measure: RowExpression, at limit: RowExpression) -> AppliedRows {
        let before = RowExpression.sumBefore(measure, order: rows.order)
        let name = reader.numbering.next()
        let isWithin = { (column: Int) in
            RowExpression.compare(.less, .output(name, column), .call(.toDouble, [limit]))
        }
        guard case .entities(let place) = rows.content else {
            let columns = rows.columns
            let inner = rows.relation(columns.map(\.meaning.expression) + [before])
            let outputs = columns.enumerated().map { position, column in
                AppliedRows.Column(path: column.path, meaning: Meaning(.output(name, position), column.meaning.type))
            }
            return AppliedRows(
                source: .rows(inner, as: name), condition: isWithin(columns.count), content: .columns(outputs))
        }
        let inner = rows.relation([.field(place.source, place.table.keyField), before])
        let keys = Relation(.rows(inner, as: name), where: isWithin(1), columns: [.output(name, 0)])
        return rows.among(keys, reader)
    }
}

extension AppliedRows {
    fileprivate func total(of measure: RowExpression) -> Relation {
        Relation(source, joins: joins, where: condition, columns: [.aggregate(.sum, measure, isDistinct: false)])
    }
}
