import ODataModel
import ODataQueries
import ODataRecords

/// What all pages of a query have in common that are written in one form.
struct PageForm: Sendable {
    /// The context's fragment.
    let context: String
    let rows: RowWriter
}

/// Writes the rows of one query, in the way that suits their shape.
struct RowWriter: Sendable {
    private let shape: ResultShape
    private let template: RowTemplate<JSONRows>?

    init(_ shape: ResultShape, _ tables: ServiceTables, _ format: ResponseFormat) {
        self.shape = shape
        template = JSONRows.template(shape, tables, format)
    }

    /// Whether rows can be written as the store has them.
    var takesFlatRows: Bool { template != nil }

    func write(_ row: FlatRow, with writer: ResultWriter, to output: inout JSONOutput) throws {
        try template?.write(row, writer, to: &output)
    }

    func write(_ rows: [ResultRow], with writer: ResultWriter, to output: inout JSONOutput) {
        for row in rows {
            guard output.goesOn() else { return }
            if let template { template.write(row, writer, to: &output) } else { writer.write(row, shape, to: &output) }
        }
    }
}
