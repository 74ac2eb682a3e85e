import AdapterKit
import RecordStorage

/// The layout of one collection in the database: made from its declaration and the registry's numbers, never changed.
final class CollectionLayout: Sendable {
    let id: CollectionID
    let number: Int64
    let rules: EntityRules
    /// The table, named by the collection's number.
    let table: String
    let columns: [Column]
    let key: Column
    /// Every field's column in declared order, then the revision.
    let selected: String
    /// The columns that are written: the revision first, the search's words last.
    let written: [Column.Part]
    /// One statement that writes many rows; its parameters are arrays, one for each of ``written``.
    let insertion: String
    /// The fields whose values before a change the log keeps.
    let scopeFields: [FieldName]
    private let keyPosition: Int
    private let positions: [FieldName: Int]

    static let searchColumn = "search"

    var entity: Entity { rules.entity }
    var hasSearch: Bool { !entity.searchFields.isEmpty }
    var hasIntegerKey: Bool { key.kind == .scalar(.integer) }
    var keyType: SQLType { hasIntegerKey ? .integer : .bytes }

    /// `numbers`: of the fields' columns.
    init(
        _ declaration: CollectionDeclaration, number: Int64, numbers: [FieldName: Int64], scopeFields: [FieldName]
    ) throws(PorticoError) {
        id = declaration.id
        self.number = number
        rules = try EntityRules(declaration.entity)
        table = "c\(number)"
        columns = declaration.entity.fields.map { Column($0, number: numbers[$0.name] ?? 0) }
        positions = Dictionary(
            columns.enumerated().map { ($1.field.name, $0) }, uniquingKeysWith: { first, _ in first })
        keyPosition = positions[declaration.entity.key.field] ?? 0
        key = columns[keyPosition]
        selected = (columns.map(\.name) + ["revision"]).joined(separator: ", ")
        let search = declaration.entity.searchFields.isEmpty ? [] : [Column.Part(name: Self.searchColumn, type: .bytes)]
        written = [Column.Part(name: "revision", type: .integer)] + columns.flatMap(\.parts) + search
        insertion = Self.insertion(into: table, written, key: key.name)
        self.scopeFields = scopeFields
    }

    /// Rows that are there are replaced.
    private static func insertion(into table: String, _ written: [Column.Part], key: String) -> String {
        let names = written.map(\.name).joined(separator: ", ")
        let values = written.map {
            $0.isArray ? "convert_from(u.\($0.name), 'UTF8')::\($0.type.rawValue)[]" : "u.\($0.name)"
        }
        let changes = written.filter { $0.name != key }.map { "\($0.name) = excluded.\($0.name)" }
        return """
            INSERT INTO \(table) (\(names)) SELECT \(values.joined(separator: ", "))
            FROM unnest(\(written.map { _ in "?" }.joined(separator: ", "))) AS u (\(names))
            ON CONFLICT (\(key)) DO UPDATE SET \(changes.joined(separator: ", "))
            """
    }

    /// Throws `request.invalid` where the entity has no such field.
    func column(_ name: FieldName) throws(PorticoError) -> Column {
        guard let position = positions[name] else {
            throw PorticoError(.requestInvalid, "\(entity.name) has no field `\(name)`.", target: name.text)
        }
        return columns[position]
    }

    /// Reads the columns of ``selected``.
    func record(_ row: SQLRow) throws -> Record {
        var entries: [WireDictionary.Entry] = []
        entries.reserveCapacity(columns.count)
        for (place, column) in columns.enumerated() {
            entries.append(WireDictionary.Entry(key: column.field.name.text, value: try column.value(row, place)))
        }
        let key = entries[keyPosition].value
        return Record(
            id: RecordID(unchecked: key.stringValue ?? key.int64Value.map { String($0) } ?? ""),
            revision: Revision(row.integer(columns.count)), fields: WireDictionary(uncheckedUniqueKeys: entries))
    }

    /// The values of ``written``.
    func stored(_ record: Record) throws -> [SQLValue] {
        var values: [SQLValue] = [.integer(record.revision.number)]
        for column in columns { values += try column.stored(record[column.field.name]) }
        if hasSearch { values.append(.text(SearchText.stored(record, entity.searchFields))) }
        return values
    }

    /// The key as it is bound; nil where no record can have that id.
    func keyValue(_ id: RecordID) -> SQLValue? {
        guard let value = rules.keyValue(of: id) else { return nil }
        return hasIntegerKey ? value.int64Value.map { .integer($0) } : .text(id.text)
    }

    /// The statement that reads those records.
    func selection(of ids: [RecordID]) -> SQLFragment {
        SQLFragment(
            "SELECT \(selected) FROM \(table) WHERE \(key.name) = ANY(?)",
            [.array(keyType, ids.compactMap { keyValue($0) })])
    }
}

/// The collections that are installed.
struct LayoutCatalogue: Sendable {
    /// A field of other records that holds the id of a record.
    struct Reference: Sendable {
        let layout: CollectionLayout
        let column: Column
        /// Whether those records are deleted with it.
        let isOwned: Bool
    }

    private(set) var layouts: [CollectionID: CollectionLayout] = [:]
    private var references: [CollectionID: [Reference]] = [:]
    /// The schema's generation that this describes.
    var generation: Int64 = 0

    mutating func add(_ layout: CollectionLayout) {
        layouts[layout.id] = layout
        for parent in references.keys { references[parent]?.removeAll { $0.layout.id == layout.id } }
        for reference in layout.entity.references {
            guard let column = try? layout.column(reference.field) else { continue }
            references[CollectionID(layout.id.adapter, reference.entity), default: []].append(
                Reference(layout: layout, column: column, isOwned: layout.entity.owners.contains(reference)))
        }
    }

    /// Throws `server.internal`: who asks for a collection that was never declared has not read its own declaration.
    func layout(_ id: CollectionID) throws(PorticoError) -> CollectionLayout {
        guard let layout = layouts[id] else {
            throw PorticoError(.serverInternal, "The collection \(id) is not installed.")
        }
        return layout
    }

    /// Fields of records that may refer to a collection's.
    func references(to collection: CollectionID) -> [Reference] { references[collection] ?? [] }
}
