import AdapterKit
import ODataEngine

/// What a client has that follows a result: rows by their ids, and within them what they expand.
final class Follower: Equatable {
    final class Row: Equatable {
        var values: [String: WireValue]
        var parts: [String: Follower] = [:]

        init(_ values: [String: WireValue]) { self.values = values }

        static func == (left: Row, right: Row) -> Bool { left.values == right.values && left.parts == right.parts }
    }

    private(set) var rows: [String: Row] = [:]

    init() {}

    /// All that a full read gives.
    convenience init(_ page: [ResultRow], _ shape: ResultShape) {
        self.init()
        for row in page { put(row, shape) }
    }

    func apply(_ page: ChangesPage) { apply(page.changes, page.shape) }

    private func apply(_ changes: [ResultChange], _ shape: ResultShape) {
        for change in changes {
            switch change {
            case .whole(let row): put(row, shape)
            case .within(let row, let parts):
                guard let own = rows[Self.id(row, shape)] else { continue }
                for (expansion, changes) in zip(shape.expansions, parts) {
                    own.parts[expansion.property, default: Follower()].apply(changes, expansion.shape)
                }
            case .gone(let id, _): rows[id.text] = nil
            }
        }
    }

    private func put(_ row: ResultRow, _ shape: ResultShape) {
        var values: [String: WireValue] = [:]
        for (column, value) in zip(shape.columns, row.values) where column.isVisible { values[column.name] = value }
        let own = Row(values)
        for (expansion, expanded) in zip(shape.expansions, row.expanded) {
            own.parts[expansion.property] = Follower(expanded.rows, expansion.shape)
        }
        rows[Self.id(row, shape)] = own
    }

    private static func id(_ row: ResultRow, _ shape: ResultShape) -> String {
        RecordID(key: row.value("ID", shape))?.text ?? ""
    }

    static func == (left: Follower, right: Follower) -> Bool { left.rows == right.rows }

    var count: Int { rows.count }
}
