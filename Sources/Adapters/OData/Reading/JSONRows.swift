import AdapterKit
import ODataModel
import ODataQueries
import ODataRecords

/// Rows in version 4's JSON that differ in nothing but their values.
///
/// Those of which each may be of another type, or tell something of its own, are written by ``ResultWriter`` one by one.
struct JSONRows: RowForm {
    private let shape: ResultShape
    private let values: ValueWriter

    /// Nil where rows of this shape are to be written one by one.
    static func template(_ shape: ResultShape, _ tables: ServiceTables, _ format: ResponseFormat) -> RowTemplate<Self>?
    {
        guard !shape.outline.told.isEmpty, isAlike(shape, tables, format) else { return nil }
        var builder = RowTemplateBuilder<Self>()
        var mark = "{"
        if shape.table != nil, format.metadata != .none, let revision = shape.revisionColumn {
            builder.text(mark)
            builder.value(
                .integer, at: revision, before: #""@odata.etag":"W/\""#, after: #"\"","#, null: "")
            mark = ""
        }
        for told in shape.outline.told {
            let column = shape.columns[told.position]
            let key = mark + JSONOutput.key(of: column.name)
            builder.value(
                content(column.type, format), at: told.position, before: key,
                null: key + (column.type.isCollection ? "[]" : "null"))
            mark = ","
        }
        for position in shape.expansions.indices { expansion(position, shape, tables, format, to: &builder) }
        builder.text("}")
        builder.end()
        return RowTemplate(Self(shape: shape, values: ValueWriter(model: tables.model, format: format)), builder)
    }

    private static func expansion(
        _ position: Int, _ shape: ResultShape, _ tables: ServiceTables, _ format: ResponseFormat,
        to builder: inout RowTemplateBuilder<Self>
    ) {
        let expansion = shape.expansions[position]
        if let type = RowIdentity(tables: tables).commonType(shape), expansion.set == nil,
            type.navigation(expansion.property) == nil
        {
            return
        }
        // What `$apply` made says whose it is before it.
        guard case .entities = expansion.content, expansion.isCollection, expansion.set == nil,
            !format.isIEEE754Compatible, let template = template(expansion.shape, tables, format)
        else { return builder.expanded(at: position) }
        builder.level(
            RowLevel(template), at: position, isCollection: true,
            count: "," + JSONOutput.key(of: "\(expansion.property)@odata.count"),
            before: "," + JSONOutput.key(of: expansion.property) + "[", after: "]", null: "")
    }

    /// Whether rows of this shape differ in nothing but their values.
    private static func isAlike(_ shape: ResultShape, _ tables: ServiceTables, _ format: ResponseFormat) -> Bool {
        guard format.metadata != .full, format.omitted == nil, shape.typeColumn == nil, shape.dynamicColumn == nil,
            shape.streams.isEmpty,
            shape.outline.told.map({ shape.columns[$0.position] }).allSatisfy({
                $0.path.count == 1 && $0.presence == nil
            })
        else { return false }
        // An entity of another type than the context says has its type beside it.
        guard let table = shape.table, let type = RowIdentity(tables: tables).commonType(shape) else { return true }
        return type.name == shape.type ?? table.type.name
    }

    private static func content(_ type: TypeReference, _ format: ResponseFormat) -> RowPart.Content {
        guard !type.isCollection, case .primitive(let primitive) = type.type else { return .other }
        switch primitive {
        case .string, .guid, .date, .timeOfDay: return .text
        case .byte, .sByte, .int16, .int32: return .integer
        case .int64: return format.isIEEE754Compatible ? .other : .integer
        default: return .other
        }
    }

    func begin(_ row: some TemplateRow, to output: inout JSONOutput) { output.beginRow() }
    func end(to output: inout JSONOutput) { output.endRow() }
    func address(of row: some TemplateRow) -> String { "" }
    func given(_ part: Int, of answer: ResultWriter, to output: inout JSONOutput) {}

    func write(_ value: WireValue, at column: Int, to output: inout JSONOutput) {
        let column = shape.columns[column]
        values.write(value, column.type, members: column.members, to: &output)
    }

    func write(_ expanded: ExpandedRows, at position: Int, _ answer: ResultWriter, to output: inout JSONOutput) {
        output.endRow()
        answer.expansion(shape.expansions[position], expanded, to: &output)
    }
}
