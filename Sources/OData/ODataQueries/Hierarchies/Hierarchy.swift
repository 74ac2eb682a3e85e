import AdapterKit
import ODataLanguage
import ODataModel
import ODataRecords

/// A recursive hierarchy as a request names it: the entities of a set, each of them a node, and what leads to the nodes
/// above. OData Extension for Data Aggregation 4.0, section 5.5.2.
struct Hierarchy {
    let reader: ExpressionReader
    let table: RecordTable
    /// To the property by which rows name a node.
    let identifier: MemberPath
    let navigation: NavigationProperty
    let type: QualifiedName
    /// What is there besides belongs to the set, not to the hierarchy.
    let filters: [Expression]

    /// `nodes`: `$root/` with a set behind it, which a cast and filters may narrow. Throws where their type has no such
    /// hierarchy, or one that leads out of the set.
    init(_ nodes: MemberPath, qualifier: String, _ reader: ExpressionReader) throws(QueryProblem) {
        guard nodes.start == .root, let set = nodes.segments.first?.name, set.namespace == nil,
            let table = reader.tables[set.name], !table.isSingleton
        else { throw QueryProblem("The nodes of a hierarchy are a set behind $root.", at: nodes.range) }
        let (type, filters) = try Self.narrowed(nodes.segments.dropFirst(), table, reader)
        guard let declared = reader.model.hierarchy(qualifier, of: type) else {
            throw QueryProblem("\(type) has no recursive hierarchy \(qualifier).", at: nodes.range)
        }
        guard let navigation = reader.model.structured(type)?.navigation(declared.parentNavigation),
            table.relations[navigation.name]?.target == table.source
        else { throw QueryProblem("The hierarchy \(qualifier) leads out of \(table.source).", at: nodes.range) }
        self.reader = reader
        (self.table, self.type, self.filters, self.navigation) = (table, type, filters, navigation)
        let segments = declared.nodeProperty.map { PathSegment(.name(WrittenName(nil, $0)), nodes.range) }
        identifier = MemberPath(segments, nodes.range)
    }

    private static func narrowed(
        _ segments: ArraySlice<PathSegment>, _ table: RecordTable, _ reader: ExpressionReader
    ) throws(QueryProblem) -> (QualifiedName, [Expression]) {
        var (type, filters) = (table.type.name, [Expression]())
        for segment in segments {
            switch segment.form {
            case .name(let name) where name.namespace != nil && reader.model.type(reader.resolved(name), isA: type):
                type = reader.resolved(name)
            case .filter(let filter): filters.append(filter)
            default: throw QueryProblem("This does not narrow a hierarchy's nodes.", at: segment.range)
            }
        }
        return (type, filters)
    }

    /// One of them, under a name of its own.
    func node() -> EntityPlace { EntityPlace(source: reader.numbering.next(), table: table, type: type) }

    func key(_ node: EntityPlace) -> RowExpression { .field(node.source, table.keyField) }

    func identifier(of node: EntityPlace) throws(QueryProblem) -> TypedExpression {
        try reader.read(identifier, on: ExpressionScope(.entity(node)))
    }

    /// Whether an entity of the set is a node of this hierarchy; nil: each is.
    func belongs(_ node: EntityPlace) throws(QueryProblem) -> RowExpression? {
        var condition = type == table.type.name ? nil : reader.isOf(type, node)
        for filter in filters {
            condition = reader.both(condition, try reader.condition(filter, on: ExpressionScope(.entity(node))))
        }
        return condition
    }

    /// The nodes for which the condition is true, by those columns.
    func nodes(
        _ node: EntityPlace, where condition: RowExpression?, columns: [RowExpression]
    ) throws(QueryProblem) -> Relation {
        Relation(
            .records(table.entity, as: node.source), where: reader.both(try belongs(node), condition), columns: columns)
    }
}
