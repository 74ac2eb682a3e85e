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

    func write(_ row: ResultRow, _ answer: Form.Answer, to output: inout Form.Output) {
        template(of: row).write(row, answer, to: &output)
    }

    func template(of row: ResultRow) -> RowTemplate<Form> {
        guard let typeColumn, let name = row.values[typeColumn].stringValue else { return standard }
        return kinds[name] ?? standard
    }
}
