import AdapterKit
import ODataLanguage
import ODataModel
import ODataRecords

// `concat`: rows of several origins as one relation. Data Aggregation 4.0, section 3.2.4.
extension Applier {
    /// Uniting costs the square of the parts, before the statement's own limits are looked at.
    private static let maximumBranches = 256

    func concatenated(_ rows: AppliedRows, _ branches: [[Transformation]]) throws(QueryProblem) -> AppliedRows {
        guard branches.count <= Self.maximumBranches else {
            throw QueryProblem("concat has at most \(Self.maximumBranches) parts.", kind: .limitExceeded)
        }
        var results: [AppliedRows] = []
        for branch in branches {
            results.append(flattened(try settled(try apply(branch, to: rows))))
        }
        return try united(results, inOrder: true)
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
                    path: path + [property.name],
                    meaning: TypedExpression(.field(place.source, column.field), property.type))
            }
        }
    }

    /// All rows, each with the columns of its part alone. `inOrder`: one part after the other, each in its own order.
    func united(_ parts: [AppliedRows], inOrder: Bool = false) throws(QueryProblem) -> AppliedRows {
        var columns: [AppliedRows.Column] = []
        for column in parts.flatMap(\.columns) where !columns.contains(where: { $0.path == column.path }) {
            columns.append(column)
        }
        let nested = try collections(of: parts)
        let presences = columns.map { Presence(of: $0.path, in: parts) }
        let places = inOrder ? places(parts) : []
        let relations = parts.enumerated().map { number, part in
            let own = part.columns
            let values = columns.map { column in own.first { $0.path == column.path }?.meaning.expression }
            let told = part.owner + (values + nested.flatMap(part.near)).map { $0 ?? .value(.null) }
            return part.relation(told + presences.compactMap { $0.told(number) } + places.map { $0[number] })
        }
        let (name, owners) = (reader.numbering.next(), parts[0].owner.count)
        var next = owners + columns.count
        let found = nested.map { $0.found(in: name, from: &next) }
        let outputs = columns.enumerated().map { position, column in
            var output = AppliedRows.Column(
                path: column.path, meaning: TypedExpression(.output(name, owners + position), column.meaning.type))
            if !presences[position].isEverywhere {
                output.presence = .output(name, next)
                next += 1
            }
            return output
        }
        var result = AppliedRows(source: .union(relations, as: name), content: .columns(outputs))
        result.nested = found
        result.order = places.indices.map { RowOrder(.output(name, next + $0)) }
        result.belonging = parts[0].belonging?.moved(to: name)
        return result
    }

    /// The part that a row is of, and its place within it where one of the parts has an order.
    private func places(_ parts: [AppliedRows]) -> [[RowExpression]] {
        let numbers = parts.indices.map { RowExpression.value(.int64(Int64($0))) }
        guard parts.contains(where: { !$0.order.isEmpty }) else { return [numbers] }
        let places = parts.map { part in
            part.order.isEmpty
                ? RowExpression.value(.null)
                : .sumBefore(.value(.int64(1)), by: part.owner, order: part.order + part.tieBreak)
        }
        return [numbers, places]
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

/// In which of several parts there is a column.
private struct Presence {
    private let inParts: [RowExpression]

    init(of path: [String], in parts: [AppliedRows]) {
        inParts = parts.map { part in
            let column = part.columns.first { $0.path == path }
            return column.map { $0.presence ?? .value(.bool(true)) } ?? .value(.bool(false))
        }
    }

    var isEverywhere: Bool { inParts.allSatisfy { $0 == .value(.bool(true)) } }

    /// In that part; nil where it is in every part's rows.
    func told(_ part: Int) -> RowExpression? { isEverywhere ? nil : inParts[part] }
}
