import AdapterKit
import ODataModel
import ODataQueries
import ODataRecords

/// How every row of one level is written, found out once: which values there are, under names that stand ready as bytes.
///
/// For rows that differ in nothing but their values. Those of which each may be of another type, or tell something of its
/// own, are written by ``ResultWriter`` one by one.
final class RowTemplate: Sendable {
    /// A value of the row. Nothing in it is counted by reference, because every value of every row comes by here.
    private struct Cell {
        enum Form {
            case text, integer, other
        }

        let position: Int
        let key: Range<Int>
        let form: Form
    }

    /// An expanded collection whose rows are alike.
    private struct Nested {
        let position: Int
        let key: Range<Int>
        let template: RowTemplate
    }

    private let writer: ResultWriter
    private let shape: ResultShape
    private let names: [UInt8]
    private let cells: [Cell]
    private let revision: Int?
    private let nested: [Nested]
    /// Expansions that are written one by one.
    private let others: [Int]

    /// Nil where rows of this shape are to be written one by one.
    init?(_ shape: ResultShape, _ writer: ResultWriter) {
        guard writer.writesAlike(shape) else { return nil }
        var names = ReadyNames()
        cells = shape.outline.told.map { told in
            let column = shape.columns[told.position]
            return Cell(
                position: told.position, key: names.add(column.name), form: Self.form(column.type, writer.format))
        }
        let type = RowIdentity(tables: writer.tables).commonType(shape)
        var (nested, others): ([Nested], [Int]) = ([], [])
        for (position, expansion) in shape.expansions.enumerated() {
            if let type, type.navigation(expansion.property) == nil { continue }
            if let template = Self.template(of: expansion, writer) {
                nested.append(Nested(position: position, key: names.add(expansion.property), template: template))
            } else {
                others.append(position)
            }
        }
        (self.nested, self.others) = (nested, others)
        self.names = names.bytes
        self.writer = writer
        self.shape = shape
        revision = shape.table != nil && writer.format.metadata != .none ? shape.revisionColumn : nil
    }

    private static func template(of expansion: ResultExpansion, _ writer: ResultWriter) -> RowTemplate? {
        guard case .entities = expansion.content, expansion.isCollection else { return nil }
        return RowTemplate(expansion.shape, writer)
    }

    private static func form(_ type: TypeReference, _ format: ResponseFormat) -> Cell.Form {
        guard !type.isCollection, case .primitive(let primitive) = type.type else { return .other }
        switch primitive {
        case .string, .guid, .date, .timeOfDay: return .text
        case .byte, .sByte, .int16, .int32: return .integer
        case .int64: return format.isIEEE754Compatible ? .other : .integer
        default: return .other
        }
    }

    func write(_ row: ResultRow, to output: inout JSONOutput) {
        output.beginObject()
        if let revision, case .int64(let number) = row.values[revision] { output.tag(number) }
        for cell in cells {
            output.key(names, cell.key)
            switch (cell.form, row.values[cell.position]) {
            case (.text, .string(let text)): output.string(text)
            case (.integer, .int64(let number)): output.integer(number)
            case (_, let value): writer.value(value, shape.columns[cell.position], to: &output)
            }
        }
        expansions(row, to: &output)
        output.endObject()
    }

    private func expansions(_ row: ResultRow, to output: inout JSONOutput) {
        for part in nested where part.position < row.expanded.count {
            if let count = row.expanded[part.position].count {
                writer.count("\(shape.expansions[part.position].property)@odata.count", count, to: &output)
            }
            output.key(names, part.key)
            output.beginArray()
            for inner in row.expanded[part.position].rows { part.template.write(inner, to: &output) }
            output.endArray()
        }
        for position in others where position < row.expanded.count {
            writer.expansion(shape.expansions[position], row.expanded[position], to: &output)
        }
    }
}

/// Members' names as they are written, one behind the other.
private struct ReadyNames {
    private(set) var bytes: [UInt8] = []

    /// Where the name is, with its colon.
    mutating func add(_ name: String) -> Range<Int> {
        let start = bytes.count
        bytes += JSONOutput.text(of: name) + [UInt8(ascii: ":")]
        return start..<bytes.count
    }
}

/// Writes the rows of one query, in the way that suits their shape.
struct RowWriter: Sendable {
    private let shape: ResultShape
    private let writer: ResultWriter
    private let template: RowTemplate?

    init(_ shape: ResultShape, _ writer: ResultWriter) {
        self.shape = shape
        self.writer = writer
        template = RowTemplate(shape, writer)
    }

    func write(_ rows: [ResultRow], to output: inout JSONOutput) {
        for row in rows {
            if let template { template.write(row, to: &output) } else { writer.write(row, shape, to: &output) }
        }
    }
}

extension ResultWriter {
    /// Whether rows of this shape differ in nothing but their values.
    fileprivate func writesAlike(_ shape: ResultShape) -> Bool {
        guard format.metadata != .full, format.omitted == nil, shape.typeColumn == nil, shape.dynamicColumn == nil,
            shape.streams.isEmpty, shape.outline.told.allSatisfy({ shape.columns[$0.position].path.count == 1 })
        else { return false }
        // An entity of another type than the context says has its type beside it.
        guard let table = shape.table, let type = RowIdentity(tables: tables).commonType(shape) else { return true }
        return type.name == shape.type ?? table.type.name
    }
}
