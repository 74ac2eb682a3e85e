import AdapterKit
import RecordStorage

/// The layout of one collection in the database: made from its declaration, never changed.
final class CollectionLayout: Sendable {
    let id: CollectionID
    /// By which the log names the collection.
    let number: Int64
    let rules: EntityRules
    let names: TableNames
    /// Quoted.
    let table: String
    let columns: [Column]
    let key: Column
    let keyPosition: Int
    /// Quoted; the table's integer primary key, by which the tables beside it refer to rows.
    let rowColumn: String
    /// Every field's column in declared order, then the revision, then ``rowColumn``.
    let selected: String
    /// `SELECT` with ``selected`` from the table.
    let selection: String
    /// `INSERT` of a row: the revision, then every column in declared order.
    let insertion: String
    /// `UPDATE` of a row by ``rowColumn``, the last parameter; the others are as for ``insertion``.
    let replacement: String
    /// The fields whose values before a change the log keeps.
    let scopeFields: [FieldName]
    /// The columns as rows are read by them: copying a whole ``Column`` costs more than reading its value.
    let cells: [(name: String, kind: ColumnKind)]
    /// Estimates of the table's rows. They and ``pages`` are all that changes here.
    let estimates = TableEstimates()
    let pages = PageForms()
    /// Where the fields are, by name.
    private let positions: [FieldName: Int]

    var entity: Entity { rules.entity }
    var hasSearch: Bool { !entity.searchFields.isEmpty }
    var hasIntegerKey: Bool { key.kind == .scalar(.integer) }

    static let revisionColumn = "\"_revision\""

    /// `scopeFields`: those that its own and its siblings' row rules look at. `names`: those of other tables of the same
    /// layout; nil: the collection's own.
    init(
        _ declaration: CollectionDeclaration, number: Int64, scopeFields: [FieldName], names: TableNames? = nil
    ) throws(PorticoError) {
        id = declaration.id
        self.number = number
        rules = try EntityRules(declaration.entity)
        self.names = names ?? TableNames(declaration.id)
        table = self.names.main.quotedIdentifier
        columns = declaration.entity.fields.map { Column($0) }
        cells = columns.map { (name: $0.field.name.text, kind: $0.kind) }
        positions = Dictionary(
            columns.enumerated().map { ($1.field.name, $0) }, uniquingKeysWith: { first, _ in first })
        keyPosition = positions[declaration.entity.key.field] ?? 0
        key = columns[keyPosition]
        rowColumn = key.kind == .scalar(.integer) ? key.name : "\"_row\""
        selected = (columns.map(\.name) + [Self.revisionColumn, rowColumn]).joined(separator: ", ")
        selection = "SELECT \(selected) FROM \(table)"
        let written = ([Self.revisionColumn] + columns.flatMap(\.names))
        let (listed, places) = (written.joined(separator: ", "), written.map { _ in "?" }.joined(separator: ", "))
        insertion = "INSERT INTO \(table) (\(listed)) VALUES (\(places))"
        replacement = "UPDATE \(table) SET (\(listed)) = (\(places)) WHERE \(rowColumn) = ?"
        self.scopeFields = scopeFields
    }

    /// Throws `request.invalid` where the entity has no such field.
    func column(_ name: FieldName) throws(PorticoError) -> Column {
        guard let position = positions[name] else {
            throw PorticoError(.requestInvalid, "\(entity.name) has no field `\(name)`.", target: name.text)
        }
        return columns[position]
    }
}

/// The names of a collection's tables and indexes, unquoted. The host's own tables begin with `portico_`; a
/// collection's always hold a slash.
struct TableNames: Sendable {
    let main: String
    let search: String

    init(_ collection: CollectionID) {
        self.init(main: "\(collection.adapter)/\(collection.entity)")
    }

    init(main: String) {
        self.main = main
        search = "\(main)~search"
    }

    func list(_ field: FieldName) -> String { "\(main)~\(field)" }

    func index(_ index: Index) -> String {
        "\(main):\(index.fields.map(\.text).joined(separator: ","))\(index.isUnique ? "!" : "")"
    }
}

extension TableNames {
    /// All tables that are not the collection's own, and none of its own, begin so: no name of a field is empty.
    var stagingPrefix: String { "\(main)~~" }

    func staging(_ number: Int) -> TableNames { TableNames(main: "\(stagingPrefix)\(number)") }

    var seen: String { "\(stagingPrefix)seen" }

    /// The names of the tables that were exchanged.
    var replaced: TableNames { TableNames(main: "\(stagingPrefix)replaced") }

    /// An index's name as it would be had its table never been exchanged.
    func plain(_ index: String) -> String {
        guard index.hasPrefix(stagingPrefix), let colon = index.firstIndex(of: ":") else { return index }
        return main + index[colon...]
    }
}

/// In this module a record is AdapterKit's; GRDB has a class of that name.
typealias Record = AdapterKit.Record
