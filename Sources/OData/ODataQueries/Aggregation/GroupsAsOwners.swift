import AdapterKit
import ODataLanguage
import ODataModel
import ODataRecords

/// `groupby` with any sequence: the groups are the owners of their rows until it has been carried out for each.
/// OData Extension for Data Aggregation 4.0, section 3.2.3.1.
struct GroupsAsOwners {
    let applier: Applier
    let properties: [MemberPath]

    func grouped(_ rows: AppliedRows, _ then: [Transformation]) throws(QueryProblem) -> AppliedRows {
        guard !properties.isEmpty else { return try applier.apply(then, to: rows) }
        let keys = try Grouping(applier: applier, rows: rows).keys(properties)
        let other = rows.again(applier.reader)
        let owners = try Grouping(applier: applier, rows: other).keys(properties)
        var groups = other.relation(other.owner + owners.map(\.meaning.expression))
        groups.isDistinct = true
        var owned = rows
        owned.belonging = AppliedRows.Belonging(
            values: rows.owner + keys.map(\.meaning.expression), owners: groups, nodes: rows.belonging?.nodes ?? [])
        let made = applier.flattened(try applier.settled(try applier.apply(then, to: owned)))
        return told(made, keys, around: rows.belonging)
    }

    /// What was made of each group's rows, with what the group is told by.
    private func told(
        _ made: AppliedRows, _ keys: [AppliedRows.Column], around: AppliedRows.Belonging?
    ) -> AppliedRows {
        guard case .columns(let columns) = made.content else { return made }
        let own = zip(keys, made.owner.suffix(keys.count)).map { key, value in
            AppliedRows.Column(path: key.path, meaning: TypedExpression(value, key.meaning.type))
        }
        var result = made
        result.content = .columns(own + columns.filter { column in !own.contains { $0.path == column.path } })
        result.belonging = around?.told(by: made.owner.dropLast(keys.count))
        return result
    }
}
