import AdapterKit
import ODataLanguage
import ODataModel
import ODataRecords

// `concat`: rows of several origins as one relation. Data Aggregation 4.0, section 3.2.4.
extension Applier {
    func concatenated(_ rows: AppliedRows, _ branches: [[Transformation]]) throws(QueryProblem) -> AppliedRows {
        var results: [AppliedRows] = []
        for branch in branches {
            results.append(flattened(try settled(try apply(branch, to: rows))))
        }
        return try united(results)
    }

    /// Entities as the columns of their properties: in a concat one may come twice.
    func flattened(_ rows: AppliedRows) -> AppliedRows {
        let own: [AppliedRows.Column]
        switch rows.content {
        case .entities(let place): own = properties(of: place)
        case .columns(let columns): own = columns
        }
        var result = rows
        result.content = .columns(own + rows.joined.flatMap { $0.columns(self) })
        result.joined = []
        return result
    }

    func properties(of place: EntityPlace, below path: [String] = []) -> [AppliedRows.Column] {
        (reader.model.structured(place.type)?.properties ?? []).compactMap { property in
            place.table.columns[property.name].map { column in
                AppliedRows.Column(
                    path: path + [property.name], meaning: Meaning(.field(place.source, column.field), property.type))
            }
        }
    }

    /// All rows, each with every column that one of them has; null where it lacks it.
    func united(_ parts: [AppliedRows]) throws(QueryProblem) -> AppliedRows {
        var columns: [AppliedRows.Column] = []
        for column in parts.flatMap(\.columns) where !columns.contains(where: { $0.path == column.path }) {
            columns.append(column)
        }
        let nested = try collections(of: parts)
        let relations = parts.map { part in
            let own = part.columns
            let values = columns.map { column in own.first { $0.path == column.path }?.meaning.expression }
            return part.relation(part.owner + (values + nested.flatMap(part.near)).map { $0 ?? .value(.null) })
        }
        let (name, owners) = (reader.numbering.next(), parts[0].owner.count)
        let outputs = columns.enumerated().map { position, column in
            AppliedRows.Column(
                path: column.path, meaning: Meaning(.output(name, owners + position), column.meaning.type))
        }
        var result = AppliedRows(source: .union(relations, as: name), content: .columns(outputs))
        var next = owners + columns.count
        result.nested = nested.map { $0.found(in: name, from: &next) }
        result.belonging = parts[0].belonging?.moved(to: name)
        return result
    }

    /// Those that one of the parts has, each once. Throws where several that are not the same have one name.
    private func collections(of parts: [AppliedRows]) throws(QueryProblem) -> [NestedRows] {
        var all: [NestedRows] = []
        for nested in parts.flatMap(\.nested) where !all.contains(where: { $0.number == nested.number }) {
            guard !all.contains(where: { $0.name == nested.name }) else {
                throw QueryProblem("Two parts of concat have different collections \(nested.name).")
            }
            all.append(nested)
        }
        return all
    }
}

extension AppliedRows {
    /// What its rows find the collection's by; nils where they have none.
    fileprivate func near(_ collection: NestedRows) -> [RowExpression?] {
        nested.first { $0.number == collection.number }?.near ?? collection.near.map { _ in nil }
    }
}
