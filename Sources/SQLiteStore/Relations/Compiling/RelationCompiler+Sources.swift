import AdapterKit
import RecordStorage

// Where rows come from.
extension RelationCompiler {
    /// The `FROM` clause of a first source, which expressions may name from now on.
    mutating func add(_ source: RelationSource) throws(PorticoError) -> SQLFragment {
        switch source {
        case .one: return SQLFragment()
        case .records(let entity, let name):
            return SQLFragment(" FROM ") + (try self.source(records: entity, as: name, isOptional: false))
        case .rows, .union, .recursion, .elements:
            return SQLFragment(" FROM ") + (try derived(source, isOptional: false))
        case .found(let name): return SQLFragment(" FROM ") + (try found(as: name))
        }
    }

    mutating func add(_ join: Join) throws(PorticoError) -> SQLFragment {
        let source: SQLFragment
        let isOptional = join.kind == .left
        switch join.source {
        case .one, .found: throw PorticoError(.requestInvalid, "A row of nothing or found before cannot be joined.")
        case .records(let entity, let name): source = try self.source(records: entity, as: name, isOptional: isOptional)
        case .rows, .union, .recursion, .elements: source = try derived(join.source, isOptional: isOptional)
        }
        let condition = try ExpressionCompiler(relations: self).condition(join.condition)
        return .build("\(isOptional ? " LEFT JOIN " : " JOIN ")$ ON $", [source, condition])
    }

    /// The records that the asker may see. The only way by which a statement reads an entity's table.
    private mutating func source(
        records entity: EntityName, as name: SourceName, isOptional: Bool
    ) throws(PorticoError) -> SQLFragment {
        let layout = try catalogue.layout(CollectionID(visible.adapter, entity))
        let rule = try visible.filter(of: entity)
        try scope.add(name, .records(layout), isOptional: isOptional)
        guard let rule else { return SQLFragment("\(layout.table) AS \(name.sql)") }
        let condition = try FilterCompiler(catalogue: catalogue).condition(rule, in: layout)
        return .build("(SELECT * FROM \(layout.table) WHERE $) AS \(name.sql)", [condition])
    }

    private mutating func derived(_ source: RelationSource, isOptional: Bool) throws(PorticoError) -> SQLFragment {
        switch source {
        case .rows(let relation, let name):
            let nested = try compile(relation)
            try scope.add(name, .rows(nested.kinds), isOptional: isOptional)
            return .build("($) AS \(name.sql)", [nested.fragment])
        case .union(let relations, let name):
            let nested = try union(relations)
            try scope.add(name, .rows(nested.kinds), isOptional: isOptional)
            return .build("($) AS \(name.sql)", [nested.fragment])
        case .recursion(let recursion, let name):
            let nested = try compile(recursion, as: name)
            try scope.add(name, .rows(nested.kinds), isOptional: isOptional)
            return .build("($) AS \(name.sql)", [nested.fragment])
        case .elements(let list, let name):
            let compiled = try ExpressionCompiler(relations: self).value(list)
            try scope.add(name, .elements(compiled), isOptional: isOptional)
            return .build("json_each(portico_positions($)) AS \(name.sql)", [compiled.fragment])
        case .records, .found, .one: return SQLFragment()
        }
    }

    /// Columns of different kinds of numbers meet in the wider one.
    private func union(_ relations: [Relation]) throws(PorticoError) -> Compiled {
        guard let first = relations.first else {
            throw PorticoError(.requestInvalid, "A union has at least one relation.")
        }
        var compiled = [try compile(first)]
        for relation in relations.dropFirst() { compiled.append(try compile(relation)) }
        var kinds = compiled[0].kinds
        for other in compiled.dropFirst() { kinds = try Self.common(kinds, other.kinds) }
        var parts: [SQLFragment] = []
        for (relation, own) in zip(relations, compiled) {
            // Once more only where numbers widen, or unions within unions would take time without end.
            let fits = zip(own.kinds, kinds).allSatisfy { $0 == nil || $0 == $1 }
            let fragment = fits ? own.fragment : try compile(relation, as: kinds).fragment
            parts.append(.build("SELECT * FROM ($)", [fragment]))
        }
        return Compiled(fragment: .list(parts, separator: " UNION ALL "), kinds: kinds)
    }

    static func common(_ left: [RowKind?], _ right: [RowKind?]) throws(PorticoError) -> [RowKind?] {
        guard left.count == right.count else {
            throw PorticoError(.requestInvalid, "The relations of a union have equally many columns.")
        }
        var result: [RowKind?] = []
        for (a, b) in zip(left, right) {
            guard let kind = RowKind.common(a, b) else {
                throw PorticoError(.requestInvalid, "The columns of a union are of one kind.")
            }
            result.append(kind)
        }
        return result
    }
}
