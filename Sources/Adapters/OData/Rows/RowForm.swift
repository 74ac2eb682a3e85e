import AdapterKit
import ODataModel
import ODataQueries

/// What a format has of its own for the rows of one level, where a ``RowTemplate`` writes everything else.
protocol RowForm: Sendable {
    associatedtype Output: RowOutput
    /// What all rows of one answer have in common, and other answers have not.
    associatedtype Answer

    func begin<Row: TemplateRow>(_ row: Row, to output: inout Output) throws(Row.Failure)
    func end(to output: inout Output)
    /// The entry's address below the root, as it stands in a URL.
    func address<Row: TemplateRow>(of row: Row) throws(Row.Failure) -> String
    /// That part of the answer.
    func given(_ part: Int, of answer: Answer, to output: inout Output)
    /// A value that is neither null nor written by the template itself.
    func write(_ value: WireValue, at column: Int, to output: inout Output)
    /// What was expanded of a row, where it is written one by one.
    func write(_ expanded: ExpandedRows, at position: Int, _ answer: Answer, to output: inout Output)
}

/// A document that rows are written to.
protocol RowOutput: DocumentOutput {
    /// Bytes that stand ready.
    mutating func ready(_ bytes: UnsafeBufferPointer<UInt8>)
    mutating func digits(_ number: Int64)
    /// A text as the value of a property, with the quotes that it has there.
    mutating func value(_ text: String)
    /// The same as UTF-8.
    mutating func value(_ text: UnsafeBufferPointer<UInt8>)
    /// A text as control information says it.
    mutating func control(_ text: String)
    /// A text that needs neither quotes nor escapes.
    mutating func plain(_ text: String)
}
