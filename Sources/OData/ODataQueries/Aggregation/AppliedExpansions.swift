import AdapterKit
import ODataLanguage
import ODataModel
import ODataRecords

/// What `$expand` tells of rows that `$apply` has made: what was joined or nested, and what navigation properties lead to as
/// long as the rows tell by which values that is found.
struct AppliedExpansions {
    let applier: Applier
    let rows: AppliedRows
    /// Of what was joined and nested; nil: nothing was said, so all of it is told (section 3).
    private(set) var made: Set<String>?
    private var others: [ExpandItem] = []

    init(_ items: [ExpandItem], of rows: AppliedRows, _ applier: Applier) throws(QueryProblem) {
        (self.applier, self.rows) = (applier, rows)
        guard !items.isEmpty else { return }
        made = []
        for item in items {
            let name = Grouping.names(item.path).joined(separator: "/")
            guard rows.joined.contains(where: { $0.name == name }) || rows.nested.contains(where: { $0.name == name })
            else {
                others.append(item)
                continue
            }
            guard item.options.isEmpty else {
                throw QueryProblem(
                    "What was joined or nested is expanded without options.", at: item.path.range, kind: .notSupported)
            }
            made?.insert(name)
        }
    }

    /// Those of navigation properties; `list` gets the columns that they are found by.
    func plans(_ list: inout ColumnList) throws(QueryProblem) -> [ExpansionPlan] {
        guard let first = others.first else { return [] }
        let place = try rows.entities(applier, at: first.path.range)
        let none = try CollectedOptions([], limits: applier.limits)
        let outer = try LevelBuilder(applier.reader, none, place, limits: applier.limits, depth: applier.depth)
        var plans: [ExpansionPlan] = []
        for item in others {
            for written in try ExpansionBuilder.items(item, outer) {
                guard !plans.contains(where: { $0.property == written.navigation.name }) else {
                    throw QueryProblem("\(written.navigation.name) is expanded twice.", at: item.path.range)
                }
                plans.append(try plan(ExpansionBuilder(outer: outer, written: written), place, &list))
            }
        }
        return plans
    }

    private func plan(
        _ builder: ExpansionBuilder, _ place: EntityPlace, _ list: inout ColumnList
    ) throws(QueryProblem) -> ExpansionPlan {
        var fields = ColumnList()
        var plan = try builder.plan(&fields)
        let told = try rows.told(
            plan.near.map { fields.expressions[$0] }, of: place, at: builder.written.item.path.range)
        plan.near = told.map { list.position(of: $0, .string) }
        return plan
    }
}

// Rows and the entities that they are, or that they were made of.
extension AppliedRows {
    func entities(_ applier: Applier, at range: SourceRange) throws(QueryProblem) -> EntityPlace {
        if case .entities(let place) = content { return place }
        guard let table = applier.reader.tables[applier.set] else {
            throw QueryProblem("Nothing belongs to these rows.", at: range)
        }
        return EntityPlace(source: applier.reader.numbering.next(), table: table, type: table.type.name)
    }

    /// The entities' fields; where the rows are none any more, their columns of the same properties.
    func told(
        _ fields: [RowExpression], of place: EntityPlace, at range: SourceRange
    ) throws(QueryProblem) -> [RowExpression] {
        guard case .columns(let columns) = content else { return fields }
        let told = fields.compactMap { field in
            columns.first { column in
                let property = column.path.count == 1 ? place.table.columns[column.path[0]] : nil
                return property.map { .field(place.source, $0.field) } == field
            }?.meaning.expression
        }
        guard told.count == fields.count else {
            throw QueryProblem("The rows no longer have what this is found by.", at: range)
        }
        return told
    }
}
