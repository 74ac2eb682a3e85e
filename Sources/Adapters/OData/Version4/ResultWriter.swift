import AdapterKit
import ODataEngine
import ODataLanguage
import ODataModel

/// Writes rows of a query in OData's JSON (JSON Format 4.01, sections 4.5 to 12).
struct ResultWriter: Sendable {
    let tables: ServiceTables
    let format: ResponseFormat
    /// `https://host/odata/v4/service/`
    let root: String
    /// When another system had the rows; nil: their truth is here.
    let asOf: WireDate?
    private let values: ValueWriter

    init(tables: ServiceTables, format: ResponseFormat, root: String, asOf: WireDate? = nil) {
        self.tables = tables
        self.format = format
        self.root = root
        self.asOf = asOf
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
        guard format.metadata != .none else { return }
        output.member("@odata.context", "\(root)$metadata#\(fragment)")
        if let asOf = asOf?.rfc3339 { output.member("@Portico.asOf", asOf) }
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
        for written in shape.outline.written {
            let column = shape.columns[written.position]
            let value = row.values[written.position]
            guard column.isThere(in: row) else { continue }
            if column.path.count > 1 {
                groups.write(written.position, row, with: values, to: &output)
                continue
            }
            if written.isDeclared, shape.typeColumn != nil, let type, type.property(column.name) == nil { continue }
            if format.omitted != nil, !written.isKey,
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

/// Writes columns with paths of several names, which `$apply` makes, as nested objects.
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

/// Writes the control information of one row (JSON Format 4.01, section 4.6).
struct RowControl {
    private let writer: ResultWriter
    private var format: ResponseFormat { writer.format }

    init(_ writer: ResultWriter) {
        self.writer = writer
    }

    /// An entity that is a whole document has its id and its stream's address even where clients could compute them.
    func write(
        _ row: ResultRow, _ shape: ResultShape, _ type: StructuredType?, isDocument: Bool, to output: inout JSONOutput
    ) {
        guard format.metadata != .none, let table = shape.table, let type else { return }
        if format.metadata == .full || type.name != (shape.type ?? table.type.name) {
            output.member("@odata.type", "#\(type.name)")
        }
        let identity = RowIdentity(tables: writer.tables)
        // Within a collection, clients compute ids and addresses (section 4.6.9).
        let isTold = format.metadata == .full || isDocument
        let path = isTold || !shape.streams.isEmpty ? identity.path(row, shape) : nil
        if isTold, let path { output.member("@odata.id", writer.root + path) }
        if let tag = identity.tag(row, shape) { output.member("@odata.etag", tag) }
        guard let path else { return }
        if format.metadata == .full { output.member("@odata.editLink", writer.root + path) }
        media(row, shape, table, path, isDocument: isDocument, to: &output)
        guard format.metadata == .full else { return }
        for navigation in type.navigation {
            let link = "\(writer.root)\(path)/\(navigation.name)"
            output.member("\(navigation.name)@odata.associationLink", "\(link)/$ref")
            output.member("\(navigation.name)@odata.navigationLink", link)
        }
    }

    /// A stream's media type cannot be computed, so it is written wherever control information is.
    private func media(
        _ row: ResultRow, _ shape: ResultShape, _ table: RecordTable, _ path: String, isDocument: Bool,
        to output: inout JSONOutput
    ) {
        for name in shape.streams {
            let (prefix, address) = (name == "$value" ? "" : name, "\(writer.root)\(path)/\(name)")
            if format.metadata == .full || name == "$value" && isDocument {
                output.member("\(prefix)@odata.mediaReadLink", address)
            }
            if format.metadata == .full, name != "$value" { output.member("\(prefix)@odata.mediaEditLink", address) }
            if let type = shape.mediaTypeColumns[name].flatMap({ row.values[$0].stringValue }) {
                output.member("\(prefix)@odata.mediaContentType", type)
            }
        }
    }

    /// Annotates types that JSON does not imply.
    static func annotate(_ name: String, _ type: TypeReference, to output: inout JSONOutput) {
        if type.isCollection {
            return output.member("\(name)@odata.type", "#Collection(\(short(type.type)))")
        }
        switch type.type {
        case .primitive(.string), .primitive(.boolean), .primitive(.double), .complex, .entity: return
        default: output.member("\(name)@odata.type", "#\(short(type.type))")
        }
    }

    private static func short(_ type: TypeName) -> String {
        if case .primitive(let primitive) = type { primitive.rawValue } else { "\(type)" }
    }
}

/// Writes the rows of one query: by a template where their shape allows it, otherwise one by one.
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

/// The row template of version 4's JSON, for rows that differ only in their values.
///
/// Rows that may differ in type or control information have no template; ``ResultWriter`` writes them one by one.
struct JSONRows: RowFormat {
    private let shape: ResultShape
    private let values: ValueWriter

    /// Nil where rows of this shape are to be written one by one.
    static func template(_ shape: ResultShape, _ tables: ServiceTables, _ format: ResponseFormat) -> RowTemplate<Self>?
    {
        guard !shape.outline.written.isEmpty, isAlike(shape, tables, format) else { return nil }
        var builder = RowTemplateBuilder<Self>()
        var mark = "{"
        if shape.table != nil, format.metadata != .none, let revision = shape.revisionColumn {
            builder.text(mark)
            builder.value(
                .integer, at: revision, before: #""@odata.etag":"W/\""#, after: #"\"","#, null: "")
            mark = ""
        }
        for written in shape.outline.written {
            let column = shape.columns[written.position]
            let key = mark + JSONOutput.key(of: column.name)
            builder.value(
                content(column.type, format), at: written.position, before: key,
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
        // Entities of `$apply` have a context before them.
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
            shape.outline.written.map({ shape.columns[$0.position] }).allSatisfy({
                $0.path.count == 1 && $0.presence == nil
            })
        else { return false }
        // An entity of another type than the context's has a type annotation.
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

/// The fragment of context URLs, behind `$metadata#` (Protocol 4.01, section 10).
struct ContextFragment: Sendable {
    let options: [QueryOption]
    let version: String

    func collection(_ collectionPath: EntityCollectionPath) -> String {
        base(collectionPath.table, collectionPath.type) + list(options)
    }

    /// A page of a query: the selected and expanded properties, and those of `$apply`.
    func page(_ shape: ResultShape, _ collectionPath: EntityCollectionPath) -> String {
        let base = base(collectionPath.table, collectionPath.type)
        guard shape.table != nil else { return Self.applied(shape, base) }
        let named = names(options)
        let made = shape.expansions.filter { $0.set != nil }.map { "\($0.property)()" }
        return base + Self.listed(named + made.filter { !named.contains($0) })
    }

    func entity(_ entityPath: EntityPath) -> String {
        let base = base(entityPath.table, entityPath.type) + list(options)
        return entityPath.table.isSingleton ? base : "\(base)/$entity"
    }

    /// Of rows that `$apply` made, or added collections to.
    static func applied(_ shape: ResultShape, _ source: String) -> String {
        let columns = shape.table == nil ? shape.columns : []
        var names = nested(columns.filter(\.isVisible).map { $0.path[...] })
        for expansion in shape.expansions { names.append("\(expansion.property)()") }
        return source + listed(names)
    }

    /// Of a collection, or the one entity, that `$apply` put into rows.
    static func applied(_ expansion: ResultExpansion) -> String? {
        expansion.set.map { applied(expansion.shape, $0) + (expansion.isCollection ? "" : "/$entity") }
    }

    /// `Category(Name),Total`: paths with a common beginning are grouped in parentheses.
    private static func nested(_ paths: [ArraySlice<String>]) -> [String] {
        var names: [String] = []
        var done: Set<String> = []
        for path in paths {
            guard let first = path.first, done.insert(first).inserted else { continue }
            let inner = paths.filter { $0.first == first && $0.count > 1 }.map { $0.dropFirst() }
            names.append(inner.isEmpty ? first : "\(first)(\(nested(inner).joined(separator: ",")))")
        }
        return names
    }

    private func base(_ table: RecordTable, _ type: StructuredType) -> String {
        type.name == table.type.name ? table.source : "\(table.source)/\(type.name)"
    }

    /// What is selected and expanded, in parentheses; empty where that is everything.
    private func list(_ options: [QueryOption]) -> String { Self.listed(names(options)) }

    private static func listed(_ names: [String]) -> String {
        names.isEmpty ? "" : "(\(names.joined(separator: ",")))"
    }

    private func names(_ options: [QueryOption]) -> [String] {
        var names: [String] = []
        for option in options {
            switch option.form {
            case .select(let items): names += items.map { Self.text($0.path) }
            case .expand(let items): names += items.compactMap(expanded)
            case .compute(let items) where !options.contains(where: \.isSelect): names += ["*"] + items.map(\.name)
            default: continue
            }
        }
        return names
    }

    private func expanded(_ item: ExpandItem) -> String? {
        let path = Self.text(item.path)
        guard path != "*", !path.isEmpty else { return nil }
        let inner = list(item.options)
        return inner.isEmpty ? "\(path)()" : path + inner
    }

    private static func text(_ path: MemberPath) -> String {
        path.segments.compactMap { segment in
            switch segment.form {
            case .name(let name): name.description
            case .star: "*"
            default: nil
            }
        }.joined(separator: "/")
    }
}

extension QueryOption {
    var isSelect: Bool {
        if case .select = form { true } else { false }
    }
}
