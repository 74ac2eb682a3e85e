import AdapterKit
import ODataModel
import ODataRecords

/// What `join` added to each row: an entity, or what transformations made of the entities.
struct JoinedRows {
    enum Content {
        case entity(EntityPlace)
        case columns([AppliedRows.Column])
    }

    let name: String
    let content: Content
    /// Null where there is none.
    let presence: RowExpression

    /// What a path goes on from behind the name.
    var ground: Place {
        switch content {
        case .entity(let place): .entity(place)
        case .columns(let columns):
            .outputs(
                Dictionary(
                    columns.map { ($0.path.joined(separator: "/"), $0.meaning) },
                    uniquingKeysWith: { first, _ in first }))
        }
    }

    var tieBreak: [RowOrder] {
        switch content {
        case .entity: [RowOrder(presence)]
        case .columns(let columns): columns.tieBreak
        }
    }

    /// Below the name.
    func columns(_ applier: Applier) -> [AppliedRows.Column] {
        switch content {
        case .entity(let place): applier.properties(of: place, below: [name])
        case .columns(let columns):
            columns.map { AppliedRows.Column(path: [name] + $0.path, meaning: $0.meaning) }
        }
    }
}
