import AdapterKit
import ODataModel
import ODataQueries
import ODataRecords

/// Rows of a query as OData's JSON has them (JSON Format 4.01, sections 4.5 to 12).
struct ResultWriter: Sendable {
    let tables: ServiceTables
    let format: ResponseFormat
    /// `https://host/odata/v4/service/`
    let root: String
    private let values: ValueWriter

    init(tables: ServiceTables, format: ResponseFormat, root: String) {
        self.tables = tables
        self.format = format
        self.root = root
        values = ValueWriter(model: tables.model, format: format)
    }

    /// A page as a whole document; `rows` in its own order where that is another one.
    func collection(_ page: ResultPage, rows: [ResultRow]? = nil, context: String, next: String?) -> [UInt8] {
        let rows = rows ?? page.rows
        var output = JSONOutput(capacity: 256 + rows.count * 256)
        begin(context, count: page.count, to: &output)
        RowWriter(page.shape, tables, format).write(rows, with: self, to: &output)
        end(next, to: &output)
        return output.bytes
    }

    /// One row as a whole document.
    func entity(_ row: ResultRow, _ shape: ResultShape, context: String) -> [UInt8] {
        var output = JSONOutput()
        write(row, shape, context: context, to: &output)
        return output.bytes
    }

    /// A collection's document up to its first item.
    func begin(_ context: String, count: Int?, to output: inout JSONOutput) {
        output.beginObject()
        self.context(context, to: &output)
        if let count { self.count("@odata.count", count, to: &output) }
        output.key("value")
        output.beginArray()
    }

    func end(_ next: String?, delta: String? = nil, to output: inout JSONOutput) {
        output.endArray()
        // Paging works without metadata too (section 4.5.5).
        if let next { output.member("@odata.nextLink", next) }
        if let delta { output.member("@odata.deltaLink", delta) }
        output.endObject()
    }

    /// A 64-bit number like any other (JSON Format 4.01, section 4.5.4).
    func count(_ name: String, _ count: Int, to output: inout JSONOutput) {
        output.key(name)
        format.isIEEE754Compatible ? output.string(String(count)) : output.raw(String(count))
    }

    func context(_ fragment: String, to output: inout JSONOutput) {
        if format.metadata != .none { output.member("@odata.context", "\(root)$metadata#\(fragment)") }
    }

    /// Its id alone.
    func reference(_ row: ResultRow, _ shape: ResultShape, to output: inout JSONOutput) {
        output.beginObject()
        if let path = RowIdentity(tables: tables).path(row, shape) { output.member("@odata.id", root + path) }
        output.endObject()
    }

    func write(_ row: ResultRow, _ shape: ResultShape, context: String? = nil, to output: inout JSONOutput) {
        output.beginObject()
        if let context { self.context(context, to: &output) }
        let type = RowIdentity(tables: tables).type(row, shape)
        if shape.table != nil { RowControl(self).write(row, shape, type, isDocument: context != nil, to: &output) }
        properties(row, shape, type, to: &output)
        for (position, expansion) in shape.expansions.enumerated() where row.expanded.indices.contains(position) {
            if let type, expansion.set == nil, type.navigation(expansion.property) == nil { continue }
            self.expansion(expansion, row.expanded[position], to: &output)
        }
        output.endObject()
    }

    private func properties(
        _ row: ResultRow, _ shape: ResultShape, _ type: StructuredType?, to output: inout JSONOutput
    ) {
        var groups = GroupedColumns(shape)
        for told in shape.outline.told {
            let column = shape.columns[told.position]
            let value = row.values[told.position]
            guard column.isThere(in: row) else { continue }
            if column.path.count > 1 {
                groups.write(told.position, row, with: values, to: &output)
                continue
            }
            if told.isDeclared, shape.typeColumn != nil, let type, type.property(column.name) == nil { continue }
            if format.omitted != nil, !told.isKey,
                values.isLeftOut(value, column.type, of: type?.property(column.name))
            {
                continue
            }
            if format.metadata == .full { RowControl.annotate(column.name, column.type, to: &output) }
            output.key(column.name)
            self.value(value, column, to: &output)
        }
        if let dynamic = shape.dynamicColumn.flatMap({ row.values[$0].dictionaryValue }) {
            for member in dynamic {
                output.key(member.key)
                output.value(member.value)
            }
        }
    }

    func value(_ value: WireValue, _ column: ResultColumn, to output: inout JSONOutput) {
        let whole = value.isNull && column.type.isCollection ? WireValue.array([]) : value
        values.write(whole, column.type, members: column.members, to: &output)
    }

    func expansion(_ expansion: ResultExpansion, _ expanded: ExpandedRows, to output: inout JSONOutput) {
        if let count = expanded.count, expansion.isCollection {
            self.count("\(expansion.property)@odata.count", count, to: &output)
        }
        if case .count = expansion.content { return }
        if format.omitted != nil, !expansion.isCollection, expanded.rows.isEmpty { return }
        if format.metadata != .none, let fragment = ContextFragment.applied(expansion) {
            output.member("\(expansion.property)@odata.context", "\(root)$metadata#\(fragment)")
        }
        output.key(expansion.property)
        guard expansion.isCollection else {
            guard let row = expanded.rows.first else { return output.null() }
            return one(row, expansion, to: &output)
        }
        output.beginArray()
        for row in expanded.rows {
            guard output.goesOn() else { return }
            one(row, expansion, to: &output)
        }
        output.endArray()
    }

    private func one(_ row: ResultRow, _ expansion: ResultExpansion, to output: inout JSONOutput) {
        if case .references = expansion.content { return reference(row, expansion.shape, to: &output) }
        write(row, expansion.shape, to: &output)
    }
}

/// Columns of paths longer than one name, which `$apply` makes: those with one beginning stand in one object.
private struct GroupedColumns {
    private let shape: ResultShape
    private var written: Set<String> = []

    init(_ shape: ResultShape) {
        self.shape = shape
    }

    mutating func write(_ position: Int, _ row: ResultRow, with values: ValueWriter, to output: inout JSONOutput) {
        let first = shape.columns[position].path[0]
        guard written.insert(first).inserted else { return }
        let members = shape.columns.enumerated().filter {
            $1.isVisible && $1.path.first == first && $1.isThere(in: row)
        }
        .map { (path: Array($1.path.dropFirst()), position: $0) }
        output.key(first)
        if let key = shape.joined[first], row.values[key].isNull { return output.null() }
        object(members, row, values, to: &output)
    }

    private func object(
        _ members: [(path: [String], position: Int)], _ row: ResultRow, _ values: ValueWriter,
        to output: inout JSONOutput
    ) {
        output.beginObject()
        var done: Set<String> = []
        for member in members {
            guard let name = member.path.first, done.insert(name).inserted else { continue }
            output.key(name)
            if member.path.count > 1 {
                let inner = members.filter { $0.path.first == name }.map { (Array($0.path.dropFirst()), $0.position) }
                object(inner, row, values, to: &output)
            } else {
                values.write(row.values[member.position], shape.columns[member.position].type, to: &output)
            }
        }
        output.endObject()
    }
}

extension ResultColumn {
    fileprivate func isThere(in row: ResultRow) -> Bool {
        presence.map { row.values[$0] == .bool(true) } ?? true
    }
}
