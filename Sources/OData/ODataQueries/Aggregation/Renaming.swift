import AdapterKit
import ODataRecords

// The same rows once more, within a relation that has them already.
extension AppliedRows {
    /// Under other names, as no relation and none within it have sources of one name.
    func again(_ reader: ExpressionReader) -> AppliedRows {
        var result = self
        for name in [source.name].compactMap({ $0 }) + joins.compactMap(\.source.name) {
            result.rename(name, reader.numbering.next())
        }
        return result
    }

    private mutating func rename(_ old: SourceName, _ new: SourceName) {
        source = source.renamed(from: old, to: new)
        joins = joins.map {
            Join($0.kind, $0.source.renamed(from: old, to: new), on: $0.condition.moved(from: old, to: new))
        }
        condition = condition?.moved(from: old, to: new)
        order = order.map { RowOrder($0.expression.moved(from: old, to: new), descending: $0.isDescending) }
        computed = computed.map { $0.moved(from: old, to: new) }
        nested = nested.map { $0.moved(from: old, to: new) }
        joined = joined.map { $0.renamed(from: old, to: new) }
        switch content {
        case .entities(let place): content = .entities(place.renamed(from: old, to: new))
        case .columns(let columns): content = .columns(columns.map { $0.moved(from: old, to: new) })
        }
        belonging = belonging.map { $0.told(by: $0.values.map { $0.moved(from: old, to: new) }) }
    }
}

extension AppliedRows.Column {
    func moved(from old: SourceName, to new: SourceName) -> Self {
        Self(path: path, meaning: meaning.moved(from: old, to: new), presence: presence?.moved(from: old, to: new))
    }
}

extension JoinedRows {
    fileprivate func renamed(from old: SourceName, to new: SourceName) -> Self {
        let moved: Content =
            switch content {
            case .entity(let place): .entity(place.renamed(from: old, to: new))
            case .columns(let columns): .columns(columns.map { $0.moved(from: old, to: new) })
            }
        return JoinedRows(name: name, content: moved, presence: presence.moved(from: old, to: new))
    }
}

extension EntityPlace {
    fileprivate func renamed(from old: SourceName, to new: SourceName) -> Self {
        source == old ? EntityPlace(source: new, table: table, type: type) : self
    }
}

extension RelationSource {
    /// Nil where nothing is known by a name.
    fileprivate var name: SourceName? {
        switch self {
        case .records(_, let name), .rows(_, let name), .union(_, let name), .recursion(_, let name),
            .elements(_, let name), .found(let name):
            name
        case .one: nil
        }
    }

    fileprivate func renamed(from old: SourceName, to new: SourceName) -> Self {
        guard name == old else { return moved(from: old, to: new) }
        return switch self {
        case .records(let entity, _): .records(entity, as: new)
        case .rows(let relation, _): .rows(relation, as: new)
        case .union(let parts, _): .union(parts, as: new)
        case .recursion(let recursion, _): .recursion(recursion, as: new)
        case .elements(let list, _): .elements(of: list, as: new)
        case .found: .found(as: new)
        case .one: .one
        }
    }
}
