import AdapterKit
import ODataQueries

/// The templates of a level's rows, of which each may be of another type.
final class RowLevel<Form: RowForm>: Sendable {
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
