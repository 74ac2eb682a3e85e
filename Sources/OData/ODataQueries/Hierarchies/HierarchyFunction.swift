import AdapterKit
import ODataLanguage
import ODataModel
import ODataRecords

/// `Aggregation.isroot(…)` and its siblings: where a node is in a hierarchy, by its identifier. OData Extension for Data
/// Aggregation 4.0, section 5.5.2.1.
struct HierarchyFunction {
    enum Name: String {
        case isnode, isroot, isleaf, isdescendant, isancestor, issibling
    }

    let name: Name
    let arguments: [String: Expression]
    let range: SourceRange
    let reader: ExpressionReader
    let ground: ExpressionScope

    /// Nil where the path calls nothing of the Aggregation vocabulary.
    init?(_ path: MemberPath, _ reader: ExpressionReader, on ground: ExpressionScope) {
        guard path.segments.count == 2, let written = path.segments[0].name, written.namespace != nil,
            case .arguments(.named(let arguments)) = path.segments[1].form
        else { return nil }
        let resolved = reader.resolved(written)
        guard resolved.namespace == AggregationTerm.namespace, let name = Name(rawValue: resolved.name) else {
            return nil
        }
        self.name = name
        self.arguments = Dictionary(
            arguments.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
        (range, self.reader, self.ground) = (path.range, reader, ground)
    }

    func meaning() throws(QueryProblem) -> TypedExpression {
        guard case .path(let set) = try given("HierarchyNodes").form else {
            throw QueryProblem("The nodes of a hierarchy are a set behind $root.", at: range)
        }
        let hierarchy = try Hierarchy(set, qualifier: try text("HierarchyQualifier"), reader)
        let sample = try hierarchy.identifier(of: hierarchy.node())
        let node = try value("Node", like: sample)
        var known: [RowExpression] = [.isNull(node)]
        let found: Relation
        switch name {
        case .isnode: found = try nodes(of: hierarchy) { _ throws(QueryProblem) in nil }
        case .isroot:
            found = try nodes(of: hierarchy) { place throws(QueryProblem) in try hierarchy.isRoot(place, at: range) }
        case .isleaf:
            found = try nodes(of: hierarchy) { place throws(QueryProblem) in try hierarchy.isLeaf(place, at: range) }
        case .isdescendant, .isancestor, .issibling:
            let other = try value(name.other, like: sample)
            known.append(.isNull(other))
            found = name == .issibling ? try siblings(of: other, hierarchy) : try related(to: other, hierarchy)
        }
        let isThere = RowExpression.isTrue(.among(node, found))
        return TypedExpression(.choose([.init(when: .any(known), then: .value(.null))], otherwise: isThere), .boolean)
    }

    // MARK: Arguments

    private func given(_ name: String) throws(QueryProblem) -> Expression {
        guard let expression = arguments[name] else { throw QueryProblem("\(self.name) needs \(name).", at: range) }
        return expression
    }

    private func value(_ name: String, like sample: TypedExpression) throws(QueryProblem) -> RowExpression {
        let expression = try given(name)
        return try reader.pair(sample, try reader.read(expression, on: ground), expression.range).1
    }

    func constant(_ name: String) throws(QueryProblem) -> WireValue? {
        guard let expression = arguments[name] else { return nil }
        guard case .value(let value) = try reader.read(expression, on: ground).expression else {
            throw QueryProblem("\(name) is a literal.", at: expression.range)
        }
        return value
    }

    private func text(_ name: String) throws(QueryProblem) -> String {
        _ = try given(name)
        guard let text = try constant(name)?.stringValue else { throw QueryProblem("\(name) is a text.", at: range) }
        return text
    }
}

extension HierarchyFunction.Name {
    /// What the node is compared with is called.
    fileprivate var other: String {
        switch self {
        case .isdescendant: "Ancestor"
        case .isancestor: "Descendant"
        default: "Other"
        }
    }
}
