import AdapterKit
import ODataEngine
import ODataModel

/// Precomputed bytes of a level's rows and the columns between them, so that each row is written by copying.
///
/// For rows that differ only in their values. The template knows no format: ``RowTemplateBuilder`` collects the bytes
/// around the values, and a ``RowFormat`` writes what the template cannot write itself.
final class RowTemplate<Form: RowFormat>: Sendable {
    private let form: Form
    private let bytes: [UInt8]
    private let parts: [RowPart]
    private let levels: [RowLevel<Form>]

    init(_ form: Form, _ builder: RowTemplateBuilder<Form>) {
        self.form = form
        (bytes, parts, levels) = (builder.bytes, builder.parts, builder.levels)
    }

    func write<Row: TemplateRow>(
        _ row: Row, _ answer: Form.Answer, to output: inout Form.Output
    ) throws(Row.Failure) {
        try form.begin(row, to: &output)
        try content(of: row, answer, to: &output)
        form.end(to: &output)
    }

    /// Without what a row begins and ends with among others.
    func content<Row: TemplateRow>(
        of row: Row, _ answer: Form.Answer, to output: inout Form.Output
    ) throws(Row.Failure) {
        try bytes.withUnsafeBufferPointer { bytes throws(Row.Failure) in
            var address: String?
            for part in parts {
                switch part.content {
                case .nothing: output.ready(bytes, part.before)
                case .given:
                    output.ready(bytes, part.before)
                    form.given(part.position, of: answer, to: &output)
                case .address:
                    output.ready(bytes, part.before)
                    if address == nil { address = try form.address(of: row) }
                    if let address { output.plain(address) }
                case .level, .expanded: expanded(part, bytes, row, answer, to: &output)
                case .text where text(row, part, bytes, to: &output): continue
                default: value(try row.value(at: part.position), part, bytes, to: &output)
                }
            }
        }
    }

    /// Whether there was one without a copy.
    private func text(
        _ row: some TemplateRow, _ part: RowPart, _ bytes: UnsafeBufferPointer<UInt8>, to output: inout Form.Output
    ) -> Bool {
        row.withText(part.position) { text in
            output.ready(bytes, part.before)
            output.value(text)
            output.ready(bytes, part.after)
        }
    }

    private func value(
        _ value: WireValue, _ part: RowPart, _ bytes: UnsafeBufferPointer<UInt8>, to output: inout Form.Output
    ) {
        if case .null = value { return output.ready(bytes, part.null) }
        output.ready(bytes, part.before)
        switch (part.content, value) {
        case (.text, .string(let text)): output.value(text)
        case (.integer, .int64(let number)): output.digits(number)
        case (.control, .string(let text)): output.control(text)
        default: form.write(value, at: part.position, to: &output)
        }
        output.ready(bytes, part.after)
    }

    private func expanded(
        _ part: RowPart, _ bytes: UnsafeBufferPointer<UInt8>, _ row: some TemplateRow, _ answer: Form.Answer,
        to output: inout Form.Output
    ) {
        let expanded = row.expanded(at: part.position)
        guard part.content == .level else {
            return form.write(expanded, at: part.position, answer, to: &output)
        }
        if let count = expanded.count, !part.count.isEmpty {
            output.ready(bytes, part.count)
            output.digits(Int64(count))
        }
        guard part.isCollection || !expanded.rows.isEmpty else { return output.ready(bytes, part.null) }
        output.ready(bytes, part.before)
        for inner in expanded.rows {
            guard output.goesOn() else { return }
            levels[part.level].write(inner, answer, to: &output)
        }
        output.ready(bytes, part.after)
    }
}

/// A part of a row template: bytes and the value that follows them. It holds no references, because it is visited for
/// every value of every row.
struct RowPart: Sendable {
    enum Content {
        case nothing, given, address
        /// A value, by its kind.
        case text, integer, control, other
        /// What was expanded: by the rows' own template, or one by one.
        case level, expanded
    }

    let content: Content
    /// A column, an expansion, or a part of the answer.
    var position = 0
    /// Among the template's bytes, as the others.
    let before: Range<Int>
    var after = 0..<0
    /// In place of both, and of the value, where that is null.
    var null = 0..<0
    /// Before how many rows there are of what was expanded.
    var count = 0..<0
    var isCollection = false
    var level = 0
}

extension RowOutput {
    fileprivate mutating func ready(_ bytes: UnsafeBufferPointer<UInt8>, _ range: Range<Int>) {
        if !range.isEmpty { ready(UnsafeBufferPointer(rebasing: bytes[range])) }
    }
}

/// Collects the parts of a row template in the order in which they are written.
struct RowTemplateBuilder<Form: RowFormat> {
    private(set) var bytes: [UInt8] = []
    private(set) var parts: [RowPart] = []
    private(set) var levels: [RowLevel<Form>] = []
    /// What is written before the next part.
    private var ready: [UInt8] = []

    mutating func text(_ text: String) { ready += text.utf8 }

    mutating func given(_ part: Int) {
        parts.append(RowPart(content: .given, position: part, before: append(taken())))
    }

    mutating func address() { parts.append(RowPart(content: .address, before: append(taken()))) }

    /// A column's value with the bytes around it, or the bytes that replace all of it where it is null.
    mutating func value(
        _ content: RowPart.Content, at column: Int, before: String, after: String = "", null: String
    ) {
        let start = taken()
        parts.append(
            RowPart(
                content: content, position: column, before: append(start + before.utf8),
                after: append(Array(after.utf8)),
                null: append(start + null.utf8)))
    }

    /// The expanded rows, one after the other. For a single-valued property, `null` are the bytes where there is none.
    mutating func level(
        _ level: RowLevel<Form>, at position: Int, isCollection: Bool, count: String = "", before: String,
        after: String, null: String
    ) {
        end()
        levels.append(level)
        parts.append(
            RowPart(
                content: .level, position: position, before: append(Array(before.utf8)),
                after: append(Array(after.utf8)),
                null: append(Array(null.utf8)), count: append(Array(count.utf8)), isCollection: isCollection,
                level: levels.count - 1))
    }

    /// What was expanded, as the form writes it.
    mutating func expanded(at position: Int) {
        end()
        parts.append(RowPart(content: .expanded, position: position, before: 0..<0))
    }

    /// Nothing more is written before another part.
    mutating func end() {
        if !ready.isEmpty { parts.append(RowPart(content: .nothing, before: append(taken()))) }
    }

    private mutating func taken() -> [UInt8] {
        defer { ready = [] }
        return ready
    }

    private mutating func append(_ piece: [UInt8]) -> Range<Int> {
        let start = bytes.count
        bytes += piece
        return start..<bytes.count
    }
}

/// The templates of a level's rows by entity type.
final class RowLevel<Form: RowFormat>: Sendable {
    private let typeColumn: Int?
    private let standard: RowTemplate<Form>
    private let kinds: [String: RowTemplate<Form>]

    init(_ standard: RowTemplate<Form>, byType kinds: [String: RowTemplate<Form>] = [:], at typeColumn: Int? = nil) {
        self.standard = standard
        self.kinds = kinds
        self.typeColumn = typeColumn
    }

    func write<Row: TemplateRow>(
        _ row: Row, _ answer: Form.Answer, to output: inout Form.Output
    ) throws(Row.Failure) {
        try template(of: row).write(row, answer, to: &output)
    }

    func template<Row: TemplateRow>(of row: Row) throws(Row.Failure) -> RowTemplate<Form> {
        guard let typeColumn, let name = try row.value(at: typeColumn).stringValue else { return standard }
        return kinds[name] ?? standard
    }
}

/// The format-specific part of a ``RowTemplate``.
protocol RowFormat: Sendable {
    associatedtype Output: RowOutput
    /// What all rows of one answer have in common, and other answers have not.
    associatedtype Answer

    func begin<Row: TemplateRow>(_ row: Row, to output: inout Output) throws(Row.Failure)
    func end(to output: inout Output)
    /// The entry's address below the root, percent-encoded.
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
    /// Precomputed bytes.
    mutating func ready(_ bytes: UnsafeBufferPointer<UInt8>)
    mutating func digits(_ number: Int64)
    /// A text as the value of a property, with the quotes that it has there.
    mutating func value(_ text: String)
    /// The same as UTF-8.
    mutating func value(_ text: UnsafeBufferPointer<UInt8>)
    /// A text of control information.
    mutating func control(_ text: String)
    /// A text that needs neither quotes nor escapes.
    mutating func plain(_ text: String)
}

/// A row that a template can write: a row in memory, or the current row of a store's statement.
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

/// The current row of a store's statement, without expansions.
struct FlatRow: TemplateRow {
    let values: any RowValues

    func value(at column: Int) throws(any Error) -> WireValue { try values[column] }

    func withText(_ column: Int, _ body: (UnsafeBufferPointer<UInt8>) -> Void) -> Bool {
        values.withText(column, body) != nil
    }

    func expanded(at position: Int) -> ExpandedRows { ExpandedRows() }
}
