import AdapterKit
import RecordStorage

/// Makes the tables of declarations, under the order of commits: all of them or none.
///
/// Adds collections, fields and indexes, hides fields that are declared no longer, and fills in defaults. What would
/// convert stored values is refused: that belongs to the breadth of the store.
struct SchemaInstaller {
    private struct KnownField {
        let number: Int64
        let kind: String
        let isHidden: Bool
    }

    private struct KnownCollection {
        let number: Int64
        let key: String
        let search: String
        var last: Int64
        var fields: [FieldName: KnownField] = [:]
    }

    private var known: [CollectionID: KnownCollection] = [:]
    private var indexes: [Int64: [String: Int64]] = [:]
    private var nextCollection: Int64 = 1
    private var nextIndex: Int64 = 1
    private(set) var statements: [SQLFragment] = []
    private(set) var layouts: [CollectionLayout] = []
    private(set) var fillings: [(layout: CollectionLayout, fillings: [DefaultFilling])] = []

    static let registry = [
        SQLFragment("SELECT number, adapter, entity, key, search, fields FROM portico_collection"),
        SQLFragment("SELECT collection, name, number, kind, hidden FROM portico_field"),
        SQLFragment("SELECT collection, definition, number FROM portico_index"),
    ]

    /// `found`: the rows of ``registry``.
    init(_ found: [SQLRows]) {
        var ids: [Int64: CollectionID] = [:]
        for row in found[0].map({ $0 }) {
            let id = CollectionID(AdapterName(unchecked: row.text(1)), EntityName(unchecked: row.text(2)))
            known[id] = KnownCollection(
                number: row.integer(0), key: row.text(3), search: row.text(4), last: row.integer(5))
            ids[row.integer(0)] = id
            nextCollection = max(nextCollection, row.integer(0) + 1)
        }
        for row in found[1].map({ $0 }) {
            guard let id = ids[row.integer(0)] else { continue }
            known[id]?.fields[FieldName(unchecked: row.text(1))] = KnownField(
                number: row.integer(2), kind: row.text(3), isHidden: row.bool(4))
        }
        for row in found[2].map({ $0 }) {
            indexes[row.integer(0), default: [:]][row.text(1)] = row.integer(2)
            nextIndex = max(nextIndex, row.integer(2) + 1)
        }
    }

    mutating func install(_ declarations: [CollectionDeclaration]) throws(PorticoError) {
        for declaration in declarations {
            try install(declaration, scopeFields: declarations.scopeFields(of: declaration.id))
        }
    }

    private mutating func install(_ declaration: CollectionDeclaration, scopeFields: [FieldName]) throws(PorticoError) {
        _ = try EntityRules(declaration.entity)
        let isNew = known[declaration.id] == nil
        var collection = known[declaration.id] ?? newCollection(declaration)
        try check(collection, declaration)
        var numbers: [FieldName: Int64] = [:]
        var added: [FieldName] = []
        var shown: [FieldName] = []
        for field in declaration.entity.fields {
            let kind = ColumnKind(field.shape).text
            if let stored = collection.fields[field.name] {
                guard stored.kind == kind else {
                    throw PorticoError(
                        .storeUnavailable,
                        "\(declaration.id) declares `\(field.name)` otherwise than its table has it; this store converts no values.",
                        target: field.name.text)
                }
                numbers[field.name] = stored.number
                if stored.isHidden {
                    shown.append(field.name)
                    hide(false, field.name, collection.number)
                }
            } else {
                collection.last += 1
                numbers[field.name] = collection.last
                added.append(field.name)
            }
        }
        let layout = try CollectionLayout(
            declaration, number: collection.number, numbers: numbers, scopeFields: scopeFields)
        isNew ? create(layout, collection) : add(added, to: layout, collection)
        for field in added { register(field, layout, numbers[field] ?? 0) }
        for (name, stored) in collection.fields where numbers[name] == nil && !stored.isHidden {
            hide(true, name, collection.number)
        }
        try addIndexes(of: layout)
        layouts.append(layout)
        if !isNew { fill(layout, added: added, shown: shown) }
        known[declaration.id] = collection
    }

    private mutating func newCollection(_ declaration: CollectionDeclaration) -> KnownCollection {
        defer { nextCollection += 1 }
        return KnownCollection(
            number: nextCollection, key: declaration.entity.key.field.text, search: Self.search(declaration), last: 0)
    }

    private static func search(_ declaration: CollectionDeclaration) -> String {
        declaration.entity.searchFields.map(\.text).joined(separator: " ")
    }

    private func check(_ collection: KnownCollection, _ declaration: CollectionDeclaration) throws(PorticoError) {
        guard collection.key == declaration.entity.key.field.text else {
            throw PorticoError(.storeUnavailable, "\(declaration.id) has another key than its table.")
        }
        guard collection.search == Self.search(declaration) else {
            throw PorticoError(.storeUnavailable, "\(declaration.id) has other search fields than its table.")
        }
    }

    private mutating func run(_ sql: String, _ values: [SQLValue] = []) { statements.append(SQLFragment(sql, values)) }

    private mutating func create(_ layout: CollectionLayout, _ collection: KnownCollection) {
        let columns = layout.written.map { part in
            part.name == layout.key.name
                ? part.definition + " PRIMARY KEY"
                : part.name == "revision" ? part.definition + " NOT NULL" : part.definition
        }
        run("CREATE TABLE \(layout.table) (\(columns.joined(separator: ", ")))")
        run(
            """
            INSERT INTO portico_collection (number, adapter, entity, key, search, fields)
            VALUES (?, convert_from(?, 'UTF8'), convert_from(?, 'UTF8'), convert_from(?, 'UTF8'), convert_from(?, 'UTF8'), ?)
            """,
            [
                .integer(layout.number), .text(layout.id.adapter.text), .text(layout.id.entity.text),
                .text(collection.key), .text(collection.search), .integer(collection.last),
            ])
    }

    private mutating func add(_ fields: [FieldName], to layout: CollectionLayout, _ collection: KnownCollection) {
        guard !fields.isEmpty else { return }
        let parts = layout.columns.filter { fields.contains($0.field.name) }.flatMap(\.parts)
        run("ALTER TABLE \(layout.table) \(parts.map { "ADD COLUMN \($0.definition)" }.joined(separator: ", "))")
        run(
            "UPDATE portico_collection SET fields = ? WHERE number = ?",
            [.integer(collection.last), .integer(layout.number)])
    }

    private mutating func register(_ field: FieldName, _ layout: CollectionLayout, _ number: Int64) {
        let kind = (try? layout.column(field).kind.text) ?? ""
        run(
            """
            INSERT INTO portico_field (collection, name, number, kind, hidden)
            VALUES (?, convert_from(?, 'UTF8'), ?, convert_from(?, 'UTF8'), false)
            """, [.integer(layout.number), .text(field.text), .integer(number), .text(kind)])
    }

    private mutating func hide(_ isHidden: Bool, _ field: FieldName, _ collection: Int64) {
        run(
            "UPDATE portico_field SET hidden = ? WHERE collection = ? AND name = convert_from(?, 'UTF8')",
            [.bool(isHidden), .integer(collection), .text(field.text)])
    }

    /// The key stands last in an index that is not unique, as it does in an order.
    private mutating func addIndexes(of layout: CollectionLayout) throws(PorticoError) {
        for index in layout.entity.indexes {
            var columns: [String] = []
            for field in index.fields {
                columns.append(OrderColumn(column: try layout.column(field), isDescending: false).sql)
            }
            if !index.isUnique, !index.fields.contains(layout.entity.key.field) { columns.append(layout.key.name) }
            addIndex("(\(columns.joined(separator: ", ")))", isUnique: index.isUnique, layout)
        }
        for column in layout.columns {
            guard case .list = column.kind else { continue }
            addIndex("USING gin (\(column.elementsName))", isUnique: false, layout)
        }
    }

    private mutating func addIndex(_ columns: String, isUnique: Bool, _ layout: CollectionLayout) {
        let definition = (isUnique ? "unique " : "") + columns
        guard indexes[layout.number]?[definition] == nil else { return }
        run("CREATE \(isUnique ? "UNIQUE " : "")INDEX i\(nextIndex) ON \(layout.table) \(columns)")
        run(
            "INSERT INTO portico_index (number, collection, definition) VALUES (?, ?, convert_from(?, 'UTF8'))",
            [.integer(nextIndex), .integer(layout.number), .text(definition)])
        indexes[layout.number, default: [:]][definition] = nextIndex
        nextIndex += 1
    }

    /// A new field has its default, and one that is declared again the value that it had; a record that had none gets the
    /// default, unless the field may be null.
    private mutating func fill(_ layout: CollectionLayout, added: [FieldName], shown: [FieldName]) {
        var fillings: [DefaultFilling] = []
        for column in layout.columns {
            let field = column.field
            guard let value = field.defaultValue.map({ field.shape.canonical($0) }), !value.isNull else { continue }
            if added.contains(field.name) {
                fillings.append(DefaultFilling(column: column, value: value, keepsValues: false))
            } else if shown.contains(field.name), !field.isNullable {
                fillings.append(DefaultFilling(column: column, value: value, keepsValues: true))
            }
        }
        if !fillings.isEmpty { self.fillings.append((layout, fillings)) }
    }
}

extension GroupTransaction {
    /// Rows that are read together.
    private static let page = 1_000

    /// Gives records the defaults of fields, as changes.
    func fill(_ fillings: [DefaultFilling], in layout: CollectionLayout) throws {
        var last: SQLValue?
        while true {
            var statement = SQLFragment("SELECT \(layout.selected) FROM \(layout.table)")
            if let last { statement.append(" WHERE \(layout.key.name) > ?", [last]) }
            statement.append(" ORDER BY \(layout.key.name) LIMIT \(Self.page)")
            let found = try rows([statement], once: true)[0].map(layout.record)
            for record in found { try fill(fillings, record, layout) }
            guard found.count == Self.page, let end = found.last else { return }
            last = layout.keyValue(end.id)
        }
    }
}
