import AdapterKit
import ODataModel
import ODataRecords

/// The columns of a level as they gather: what is told, and what is needed besides.
struct ColumnList {
    private(set) var columns: [ResultColumn] = []
    private(set) var expressions: [RowExpression] = []

    @discardableResult
    mutating func add(_ column: ResultColumn, _ expression: RowExpression) -> Int {
        columns.append(column)
        expressions.append(expression)
        return columns.count - 1
    }

    /// The position of an expression that is there, or of a hidden column that is made for it.
    mutating func position(of expression: RowExpression, _ type: TypeReference) -> Int {
        if let found = expressions.firstIndex(of: expression) { return found }
        return add(ResultColumn(["#\(columns.count)"], type, isVisible: false), expression)
    }
}
