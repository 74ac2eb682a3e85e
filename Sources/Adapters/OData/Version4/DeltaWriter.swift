import AdapterKit
import ODataEngine
import ODataModel

/// Writes changes in OData's JSON (JSON Format 4.01, section 15; 4.0, section 14).
///
/// 4.01 nests the changes of expanded entities within their owner; 4.0 has one flat list with links between the
/// entities.
struct DeltaWriter {
    private let writer: ResultWriter
    /// The size limit of the document in bytes.
    private let most: Int

    init(_ writer: ResultWriter, most: Int) {
        self.writer = writer
        self.most = most
    }

    /// Throws `request.limitExceeded`, and `CancellationError` where the task is cancelled.
    func document(_ page: ChangesPage, count: Int?, context: String, link: String) throws -> [UInt8] {
        var document: [UInt8] = []
        let sink = DocumentSink { part in
            try Task.checkCancellation()
            document += part
            guard document.count <= most else {
                throw PorticoError(
                    .requestLimitExceeded, "Changes of one page have at most \(most) bytes; ask for fewer.")
            }
        }
        var output = JSONOutput(capacity: 256 + page.changes.count * 256, to: sink)
        output.beginObject()
        writer.context(context, to: &output)
        if let count { writer.count("@odata.count", count, to: &output) }
        output.key("value")
        output.beginArray()
        if writer.format.version == "4.0" {
            var list = FlatDelta(writer, output)
            for change in page.changes where list.output.goesOn() { list.add(change, page.shape) }
            output = list.output
        } else {
            for change in page.changes where output.goesOn() {
                NestedDelta(writer).write(change, page.shape, to: &output)
            }
        }
        output.endArray()
        output.member(page.isComplete ? "@odata.deltaLink" : "@odata.nextLink", link)
        output.endObject()
        try output.flush()
        return document
    }
}

/// Writes nested changes (4.01).
struct NestedDelta {
    private let writer: ResultWriter

    init(_ writer: ResultWriter) {
        self.writer = writer
    }

    func write(_ change: ResultChange, _ shape: ResultShape, to output: inout JSONOutput) {
        switch change {
        case .whole(let row): writer.write(row, shape, to: &output)
        case .within(let row, let parts): within(row, parts, shape, to: &output)
        case .gone(let id, let reason): gone(id, reason, shape, to: &output)
        }
    }

    private func within(
        _ row: ResultRow, _ parts: [[ResultChange]], _ shape: ResultShape, to output: inout JSONOutput
    ) {
        output.beginObject()
        if let path = RowIdentity(tables: writer.tables).path(row, shape) {
            output.member("@odata.id", writer.root + path)
        }
        if let table = shape.table { key(table.keyFields(of: row, shape), table, to: &output) }
        for (expansion, changes) in zip(shape.expansions, parts) where !changes.isEmpty {
            self.expansion(expansion, changes, to: &output)
        }
        output.endObject()
    }

    private func expansion(_ expansion: ResultExpansion, _ changes: [ResultChange], to output: inout JSONOutput) {
        guard expansion.isCollection else {
            output.key(expansion.property)
            // What is gone comes first; there is at most one that is there.
            guard let last = changes.last, !last.isGone else { return output.null() }
            return write(last, expansion.shape, to: &output)
        }
        output.key("\(expansion.property)@delta")
        output.beginArray()
        for change in changes {
            guard output.goesOn() else { return }
            write(change, expansion.shape, to: &output)
        }
        output.endArray()
    }

    private func gone(_ id: RecordID, _ reason: RemovalReason, _ shape: ResultShape, to output: inout JSONOutput) {
        output.beginObject()
        output.key("@odata.removed")
        output.beginObject()
        output.member("reason", reason.rawValue)
        output.endObject()
        if let table = shape.table {
            let fields = table.keyFields(of: id, form: StoredValueCodec(model: writer.tables.model))
            output.member("@odata.id", writer.root + table.path(fields, writer.tables.model))
            key(fields, table, to: &output)
        }
        output.endObject()
    }

    private func key(_ fields: WireDictionary, _ table: RecordTable, to output: inout JSONOutput) {
        let values = ValueWriter(model: writer.tables.model, format: writer.format)
        for name in table.keyNames {
            guard let column = table.columns[name], let value = fields[column.field.text] else { continue }
            output.key(name)
            values.write(value, column.type, to: &output)
        }
    }
}

extension ResultChange {
    var isGone: Bool {
        if case .gone = self { true } else { false }
    }
}

extension RecordTable {
    /// `Students(1)`, also of one that is gone.
    func path(_ fields: WireDictionary, _ model: EntityDataModel) -> String {
        source + keyPredicate(fields, model: model)
    }

    /// The key properties of a row of this table.
    func keyFields(of row: ResultRow, _ shape: ResultShape) -> WireDictionary {
        var fields = WireDictionary()
        for name in keyNames {
            guard let position = shape.columns.firstIndex(where: { $0.path == [name] }), let column = columns[name]
            else { continue }
            fields[column.field.text] = row.values[position]
        }
        return fields
    }
}

/// Writes changes as one flat list (4.0): entities of every set, deletions, added and removed links.
struct FlatDelta {
    var output: JSONOutput
    private let writer: ResultWriter
    /// An entity that belongs to several owners is written once.
    private var written: Set<String> = []

    init(_ writer: ResultWriter, _ output: JSONOutput) {
        self.writer = writer
        self.output = output
    }

    mutating func add(_ change: ResultChange, _ shape: ResultShape) {
        switch change {
        case .whole(let row): entity(row, shape, isOfTheSet: true)
        case .within(let row, let parts): within(row, parts, shape)
        case .gone(let id, let reason): deleted(id, reason, shape)
        }
    }

    private mutating func entity(_ row: ResultRow, _ shape: ResultShape, isOfTheSet: Bool = false) {
        guard let path = path(row, shape) else { return }
        if isOfTheSet || written.insert(path).inserted {
            var plain = row
            plain.expanded = []
            let context = isOfTheSet ? nil : shape.table.map { "\($0.source)/$entity" }
            writer.write(plain, shape, context: context, to: &output)
        }
        for (expansion, expanded) in zip(shape.expansions, row.expanded) {
            for inner in expanded.rows {
                guard output.goesOn() else { return }
                entity(inner, expansion.shape)
                link("$link", path, expansion, self.path(inner, expansion.shape))
            }
        }
    }

    private mutating func within(_ row: ResultRow, _ parts: [[ResultChange]], _ shape: ResultShape) {
        guard let path = path(row, shape) else { return }
        for (expansion, changes) in zip(shape.expansions, parts) {
            for change in changes {
                guard output.goesOn() else { return }
                related(change, path, expansion)
            }
        }
    }

    private mutating func related(_ change: ResultChange, _ owner: String, _ expansion: ResultExpansion) {
        switch change {
        case .whole(let row):
            entity(row, expansion.shape)
            link("$link", owner, expansion, path(row, expansion.shape))
        case .within(let row, let parts): within(row, parts, expansion.shape)
        case .gone(let id, .deleted): deleted(id, .deleted, expansion.shape)
        case .gone(let id, .changed): link("$deletedLink", owner, expansion, path(id, expansion.shape))
        }
    }

    private mutating func deleted(_ id: RecordID, _ reason: RemovalReason, _ shape: ResultShape) {
        guard let table = shape.table, let path = path(id, shape), written.insert("-\(path)").inserted else { return }
        output.beginObject()
        output.member("@odata.context", "\(writer.root)$metadata#\(table.source)/$deletedEntity")
        output.member("id", writer.root + path)
        output.member("reason", reason.rawValue)
        output.endObject()
    }

    private mutating func link(_ kind: String, _ owner: String, _ expansion: ResultExpansion, _ target: String?) {
        guard let target else { return }
        let source = owner.prefix { $0 != "(" }
        output.beginObject()
        output.member("@odata.context", "\(writer.root)$metadata#\(source)/\(kind)")
        output.member("source", writer.root + owner)
        output.member("relationship", expansion.property)
        output.member("target", writer.root + target)
        output.endObject()
    }

    private func path(_ row: ResultRow, _ shape: ResultShape) -> String? {
        RowIdentity(tables: writer.tables).path(row, shape)
    }

    private func path(_ id: RecordID, _ shape: ResultShape) -> String? {
        shape.table.map { table in
            table.path(
                table.keyFields(of: id, form: StoredValueCodec(model: writer.tables.model)), writer.tables.model)
        }
    }
}
