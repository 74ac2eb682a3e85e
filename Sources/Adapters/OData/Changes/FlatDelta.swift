import AdapterKit
import ODataModel
import ODataQueries
import ODataRecords

/// Changes one after the other (4.0): entities of every set, what is deleted, links that are there and links that are
/// not.
struct FlatDelta {
    var output: JSONOutput
    private let writer: ResultWriter
    /// An entity that belongs to several is told once.
    private var told: Set<String> = []

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
        if isOfTheSet || told.insert(path).inserted {
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

    private mutating func deleted(_ id: RecordID, _ reason: GoneReason, _ shape: ResultShape) {
        guard let table = shape.table, let path = path(id, shape), told.insert("-\(path)").inserted else { return }
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
                table.keyFields(of: id, form: StoredForm(model: writer.tables.model)), writer.tables.model)
        }
    }
}
