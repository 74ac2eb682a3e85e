import AdapterKit
import ODataLanguage
import ODataModel

/// A query as the OData service of another system is asked it. The query was planned before, so it is right by the model.
public struct CalledQuery: Sendable {
    private static let longestSelection = 4_000

    public let table: RecordTable
    public let shape: ResultShape
    /// Whether the number of all entities is part of the answer.
    public let isCounted: Bool
    /// Rows that are left out before the page: those of `$skip`, and those of the pages before.
    public let offset: Int
    /// Entities of the pages before.
    public let done: Int
    /// Entities of this page at most.
    public let pageLimit: Int
    /// Whether there may be pages behind this one.
    public let hasFurtherPages: Bool
    private let version: ServableModel.Version
    private let filter: String?
    private let order: String
    /// Whether the request says in which order entities come.
    private let isOrdered: Bool
    /// Entities that the request wants at most.
    public let top: Int?

    /// `filters`: of the path's segments. Throws for what has another meaning there, or none.
    public init(
        _ query: EntityQuery, filters: [Expression], shape: ResultShape, in tables: ServiceTables,
        version: ServableModel.Version, limits: QueryLimits = .standard
    ) throws(QueryProblem) {
        guard let table = tables[query.source] else { throw QueryProblem("There is no entity set \(query.source).") }
        guard query.cast == nil else { throw ExpressionText.different("a cast", nil) }
        let options = try LevelOptions(query.options, limits: limits)
        if let search = options.search { throw ExpressionText.different("`$search`", search.range) }
        if options.apply != nil { throw ExpressionText.different("`$apply`", nil) }
        if !options.compute.isEmpty { throw ExpressionText.different("`$compute`", nil) }
        try Self.check(options.expand)
        try Self.check(shape)
        let text = ExpressionText(tables, of: table, version: version, aliases: options.aliases, now: query.now)
        var conditions: [String] = []
        for filter in filters + (options.filter.map { [$0] } ?? []) { conditions.append(try text.condition(filter)) }
        filter = conditions.count > 1 ? conditions.map { "(\($0))" }.joined(separator: " and ") : conditions.first
        order = try text.order(options.order)
        isOrdered = !options.order.isEmpty
        top = options.top
        let done = try Self.done(options.skipToken, limits)
        self.done = done
        offset = options.skip + done
        let remaining = options.top.map { max(0, $0 - done) }
        pageLimit = min(query.pageSize, remaining ?? query.pageSize)
        hasFurtherPages = remaining.map { $0 > query.pageSize } ?? true
        isCounted = options.count
        self.table = table
        self.shape = shape
        self.version = version
    }

    /// `$skiptoken` is the number of entities of the pages before.
    private static func done(_ token: (text: String, range: SourceRange)?, _ limits: QueryLimits) throws(QueryProblem)
        -> Int
    {
        guard let token else { return 0 }
        guard token.text.utf8.count <= 10, let done = Int(token.text), done >= 0 else {
            throw QueryProblem("The $skiptoken belongs to another query.", at: token.range)
        }
        guard done <= limits.skip else {
            throw QueryProblem(
                "Pages go on to the entity \(limits.skip).", at: token.range, kind: .limitExceeded)
        }
        return done
    }

    /// Checks that what is expanded is asked for by name.
    private static func check(_ items: [ExpandItem]) throws(QueryProblem) {
        for item in items {
            for segment in item.path.segments {
                if let name = segment.name, name.namespace != nil {
                    throw ExpressionText.different("\(name)", segment.range)
                }
            }
            for option in item.options {
                switch option.form {
                case .select: continue
                case .expand(let inner): try check(inner)
                default:
                    throw ExpressionText.different(
                        "`\(option.form.name ?? "this option")` within `$expand`", option.range)
                }
            }
        }
    }

    private static func check(_ shape: ResultShape) throws(QueryProblem) {
        for expansion in shape.expansions {
            guard case .entities = expansion.content, expansion.set == nil, let table = expansion.shape.table,
                expansion.shape.type == table.type.name, shape.table?.type.navigation(expansion.property) != nil
            else { throw ExpressionText.different("\(expansion.property) in `$expand` this way", nil) }
            try check(expansion.shape)
        }
    }

    /// The options that shape entities: `$select` and `$expand`.
    public var shaping: [(String, String)] {
        var options: [(String, String)] = []
        if let selection { options.append(("$select", selection)) }
        if !shape.expansions.isEmpty { options.append(("$expand", Self.expansions(of: shape, version))) }
        return options
    }

    /// The options that choose entities.
    public var choosing: [(String, String)] { filter.map { [("$filter", $0)] } ?? [] }

    /// The options of the page. One entity more is asked for, to know whether there is a next page.
    public var page: [(String, String)] {
        var options = choosing + shaping
        options.append(("$orderby", order))
        options.append(("$top", String(wanted)))
        if offset > 0 { options.append(("$skip", String(offset))) }
        if isCounted { options.append(version == .version4 ? ("$count", "true") : ("$inlinecount", "allpages")) }
        return options
    }

    /// The options of a function's result, which is no page: in the function's order, where the request asks for no other.
    public var result: [(String, String)] {
        var options = choosing + shaping
        if isOrdered { options.append(("$orderby", order)) }
        if let top { options.append(("$top", String(top))) }
        if offset > 0 { options.append(("$skip", String(offset))) }
        if isCounted { options.append(version == .version4 ? ("$count", "true") : ("$inlinecount", "allpages")) }
        return options
    }

    /// Entities that are asked for.
    public var wanted: Int { hasFurtherPages ? pageLimit + 1 : pageLimit }

    /// Nil where an entity may have other properties than its set's type.
    private var selection: String? {
        guard table.family.count == 1, !table.type.isOpen else { return nil }
        var names: [String] = []
        for column in shape.columns where column.path.count == 1 {
            guard table.type.property(column.name) != nil, table.columns[column.name] != nil,
                !names.contains(column.name)
            else { continue }
            names.append(column.name)
        }
        if version != .version4 {
            // Version 2 has what is expanded among what is selected.
            guard shape.expansions.allSatisfy(\.shape.expansions.isEmpty) else { return nil }
            names += shape.expansions.map(\.property)
        }
        let text = names.joined(separator: ",")
        return text.isEmpty || text.utf8.count > Self.longestSelection ? nil : text
    }

    private static func expansions(of shape: ResultShape, _ version: ServableModel.Version) -> String {
        guard version != .version4 else {
            return shape.expansions.map { expansion in
                expansion.shape.expansions.isEmpty
                    ? expansion.property : "\(expansion.property)($expand=\(expansions(of: expansion.shape, version)))"
            }.joined(separator: ",")
        }
        return paths(of: shape).joined(separator: ",")
    }

    /// `School`, `School/State`
    private static func paths(of shape: ResultShape) -> [String] {
        shape.expansions.flatMap { expansion in
            [expansion.property] + paths(of: expansion.shape).map { "\(expansion.property)/\($0)" }
        }
    }
}
