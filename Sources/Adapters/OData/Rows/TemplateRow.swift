import AdapterKit
import ODataQueries

/// A row that a template writes: one in memory, or the one that a store is at.
protocol TemplateRow {
    /// What reading a value may end with: nothing, of a row in memory.
    associatedtype Failure: Error

    func value(at column: Int) throws(Failure) -> WireValue
    /// The UTF-8 of a text, where it is there without a copy.
    func withText(_ column: Int, _ body: (UnsafeBufferPointer<UInt8>) -> Void) -> Bool
    /// What was expanded of it.
    func expanded(at position: Int) -> ExpandedRows
}

extension ResultRow: TemplateRow {
    func value(at column: Int) throws(Never) -> WireValue { values[column] }
    func withText(_ column: Int, _ body: (UnsafeBufferPointer<UInt8>) -> Void) -> Bool { false }

    func expanded(at position: Int) -> ExpandedRows {
        position < expanded.count ? expanded[position] : ExpandedRows()
    }
}

/// As it is in the store, without anything that would be expanded of it.
struct FlatRow: TemplateRow {
    let values: any RowValues

    func value(at column: Int) throws(any Error) -> WireValue { try values[column] }

    func withText(_ column: Int, _ body: (UnsafeBufferPointer<UInt8>) -> Void) -> Bool {
        values.withText(column, body) != nil
    }

    func expanded(at position: Int) -> ExpandedRows { ExpandedRows() }
}
