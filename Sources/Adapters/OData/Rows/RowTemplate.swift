import AdapterKit
import ODataModel
import ODataQueries

/// How every row of one level is written, found out once: bytes that stand ready, and what goes between them.
///
/// For rows that differ in nothing but their values. It knows nothing of a format: what is written around the values was
/// put together by ``RowTemplateBuilder``, and what the template does not write itself its ``RowForm`` does.
final class RowTemplate<Form: RowForm>: Sendable {
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

/// A piece of a row: bytes, and what is written behind them. Nothing in it is counted by reference, because every piece
/// of every row comes by here.
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
