import AdapterKit
import ODataLanguage
import ODataModel

/// Plans one level of a query: its condition, order and columns, and the levels below.
struct LevelBuilder {
    let reader: ExpressionReader
    let limits: QueryLimits
    let options: LevelOptions
    let entity: EntitySource
    /// The number of levels around this one.
    let depth: Int
    private var scope: ExpressionScope
    private var list = ColumnList()
    private let selection: Selection?

    init(
        _ reader: ExpressionReader, _ options: LevelOptions, _ entity: EntitySource, limits: QueryLimits, depth: Int
    ) throws(QueryProblem) {
        self.reader = reader
        self.limits = limits
        self.options = options
        self.entity = entity
        self.depth = depth
        scope = ExpressionScope(.entity(entity))
        for item in options.compute {
            guard scope.computed[item.name] == nil, reader.model.structured(entity.type)?.property(item.name) == nil
            else { throw QueryProblem("There is a property \(item.name) already.", at: item.nameRange) }
            let known = scope
            scope.computed[item.name] = try reader.numbering.naming(item.name) { () throws(QueryProblem) in
                try reader.read(item.expression, on: known)
            }
        }
        let computed = Set(scope.computed.keys)
        if let items = options.select {
            selection = try Selection(items, type: entity.type, reader, computed: computed)
        } else {
            selection = nil
        }
        var restrictions = RestrictionCheck(of: entity.table.source, reader)
        try restrictions.check(options)
    }

    /// `$filter` and `$search`.
    func condition() throws(QueryProblem) -> RowExpression? {
        var condition: RowExpression?
        if let filter = options.filter { condition = try reader.condition(filter, on: scope) }
        if let search = options.search {
            let found = RowExpression.found(entity.source, try reader.read(search.expression, search.range))
            condition = reader.both(condition, found)
        }
        return condition
    }

    /// The order that was asked for, made total by the key, which goes in the last criterion's direction.
    func order() throws(QueryProblem) -> [RowOrder] {
        let order = try reader.order(options.order, on: scope)
        let key = RowExpression.field(entity.source, entity.table.keyField)
        if order.contains(where: { $0.expression == key }) { return order }
        return order + [RowOrder(key, descending: order.last?.isDescending ?? false)]
    }

    /// The level, from rows of `source` for which `belongs` is true.
    mutating func level(
        _ source: RelationSource, joins: [Join] = [], where belongs: RowExpression?
    ) throws(QueryProblem) -> LevelPlan {
        if depth == 0 {
            scope.these = AppliedRows(source: source, joins: joins, condition: belongs, content: .entities(entity))
        }
        let condition = reader.both(belongs, try condition())
        let order = try order()
        addProperties()
        let expansions = try expand()
        let orderColumns = order.map { list.position(of: $0.expression, .string) }
        let revision = list.position(of: .revision(entity.source), .int64)
        let type = entity.table.discriminator.map { list.position(of: .field(entity.source, $0), .string) }
        let dynamic = entity.table.dynamicField.map {
            list.position(of: .field(entity.source, $0), TypeReference(.abstract("Untyped")))
        }
        let mediaTypes = mediaTypes()
        let shape = ResultShape(
            table: entity.table, type: entity.type, columns: list.columns, expansions: expansions.map(\.result),
            revisionColumn: revision, typeColumn: type, dynamicColumn: dynamic, streams: streams,
            mediaTypeColumns: mediaTypes, isNarrowed: selection != nil)
        let relation = Relation(
            source, joins: joins, where: condition, columns: list.expressions, order: order)
        let count = Relation(
            source, joins: joins, where: condition, columns: [.aggregate(.count, nil, isDistinct: false)])
        return LevelPlan(
            shape: shape, relation: relation, expansions: expansions, count: options.count ? count : nil,
            orderColumns: orderColumns)
    }

    private mutating func addProperties() {
        var seen: Set<String> = []
        for type in entity.table.family.compactMap({ reader.model.structured($0) }) {
            for property in type.properties where seen.insert(property.name).inserted {
                guard let column = entity.table.columns[property.name] else { continue }
                add(property, column)
            }
        }
        for (name, typed) in scope.computed.sorted(by: { $0.key < $1.key }) where selection?.contains(name) ?? true {
            list.add(ResultColumn([name], typed.type ?? .string), typed.expression)
        }
    }

    /// Keys are always there: links and ids are made of them.
    private mutating func add(_ property: StructuralProperty, _ column: RecordColumn) {
        let isVisible = selection?.contains(property.name) ?? true
        guard isVisible || entity.table.keyNames.contains(property.name) else { return }
        list.add(
            ResultColumn(
                [property.name], property.type, isVisible: isVisible, members: selection?.members(of: property.name)),
            .field(entity.source, column.field))
    }

    private var streams: [String] {
        entity.table.streams.keys.sorted().filter { name in
            name == "$value" || (selection?.contains(name) ?? true)
        }
    }

    private mutating func mediaTypes() -> [String: Int] {
        var columns: [String: Int] = [:]
        for name in streams {
            guard let fields = entity.table.streams[name] else { continue }
            columns[name] = list.position(of: .field(entity.source, fields.mediaType), .string)
        }
        return columns
    }

    private mutating func expand() throws(QueryProblem) -> [ExpansionPlan] {
        var expansions: [ExpansionPlan] = []
        for item in options.expand {
            for written in try ExpansionBuilder.items(item, self) {
                guard !expansions.contains(where: { $0.property == written.navigation.name }) else {
                    throw QueryProblem("\(written.navigation.name) is expanded twice.", at: item.path.range)
                }
                let builder = ExpansionBuilder(outer: self, written: written)
                expansions.append(try builder.plan(&list))
            }
        }
        return expansions
    }
}

/// The query options of one level, each at most once.
struct LevelOptions {
    var filter: Expression?
    var order: [OrderItem] = []
    var select: [SelectItem]?
    var expand: [ExpandItem] = []
    var compute: [ComputeItem] = []
    var search: (expression: SearchExpression, range: SourceRange)?
    var apply: [Transformation]?
    var top: Int?
    var skip = 0
    var count = false
    var levels: Levels?
    var skipToken: (text: String, range: SourceRange)?
    var aliases: [String: Expression] = [:]

    init(_ options: [QueryOption], limits: QueryLimits) throws(QueryProblem) {
        var seen: Set<String> = []
        for option in options {
            if let name = option.form.name, !seen.insert(name).inserted {
                throw QueryProblem("\(name) is given twice.", at: option.nameRange)
            }
            try take(option, limits)
        }
    }

    private mutating func take(_ option: QueryOption, _ limits: QueryLimits) throws(QueryProblem) {
        switch option.form {
        case .filter(let expression): filter = expression
        case .orderBy(let items):
            guard items.count <= limits.orderCriteria else {
                throw QueryProblem(
                    "$orderby has at most \(limits.orderCriteria) criteria.", at: option.range, kind: .limitExceeded)
            }
            order = items
        case .select(let items): select = items
        case .expand(let items): expand = items
        case .compute(let items): compute = items
        case .search(let expression): search = (expression, option.range)
        case .apply(let transformations): apply = transformations
        case .top(let digits): top = try Self.number(digits, option.range) ?? Int(Int32.max)
        case .skip(let digits):
            guard let number = try Self.number(digits, option.range), number <= limits.skip else {
                throw QueryProblem("$skip is at most \(limits.skip).", at: option.range, kind: .limitExceeded)
            }
            skip = number
        case .count(let isWanted): count = isWanted
        case .levels(let wanted): levels = wanted
        case .skipToken(let text): skipToken = (text, option.range)
        case .alias(let name, let expression): aliases[name] = expression
        case .index, .format, .deltaToken, .schemaVersion, .id, .custom: break
        }
    }

    /// Nil for one that is too large to count.
    static func number(_ digits: String, _ range: SourceRange) throws(QueryProblem) -> Int? {
        guard !digits.isEmpty, digits.utf8.allSatisfy({ $0 &- 0x30 < 10 }) else {
            throw QueryProblem("A number of rows is expected.", at: range)
        }
        return Int(digits).flatMap { $0 <= Int(Int32.max) ? $0 : nil }
    }
}

/// Collects the columns of a level: those that are written and those that are only needed.
struct ColumnList {
    private(set) var columns: [ResultColumn] = []
    private(set) var expressions: [RowExpression] = []

    @discardableResult
    mutating func add(_ column: ResultColumn, _ expression: RowExpression) -> Int {
        columns.append(column)
        expressions.append(expression)
        return columns.count - 1
    }

    /// The position of an expression that is there, or of a hidden column that is made for it.
    mutating func position(of expression: RowExpression, _ type: TypeReference) -> Int {
        if let found = expressions.firstIndex(of: expression) { return found }
        return add(ResultColumn(["#\(columns.count)"], type, isVisible: false), expression)
    }
}

/// The properties that `$select` names, of one type.
struct Selection {
    /// All structural properties.
    private(set) var isEverything = false
    private(set) var names: [String] = []
    /// By property: the selected paths within it; none: the whole property.
    private(set) var members: [String: [[String]]] = [:]

    /// Throws for what the type does not have; `computed` are the names that `$compute` gives.
    init(
        _ items: [SelectItem], type: QualifiedName, _ reader: ExpressionReader, computed: Set<String>
    ) throws(QueryProblem) {
        for item in items { try add(item, type, reader, computed) }
    }

    private mutating func add(
        _ item: SelectItem, _ type: QualifiedName, _ reader: ExpressionReader, _ computed: Set<String>
    ) throws(QueryProblem) {
        var type = type
        var segments = item.path.segments[...]
        while let first = segments.first {
            if case .star = first.form {
                isEverything = true
                return
            }
            guard let name = first.name else { break }
            guard name.namespace != nil else { break }
            guard let cast = reader.model.structured(reader.resolved(name)) else {
                return try Self.checkOperations(name, first.range, reader.model)
            }
            guard reader.model.type(cast.name, isA: type) else {
                throw QueryProblem("\(cast.name) does not derive from \(type).", at: first.range)
            }
            type = cast.name
            segments = segments.dropFirst()
        }
        guard let first = segments.first, let name = first.name?.name else {
            throw QueryProblem("$select names properties.", at: item.path.range)
        }
        try add(name, segments.dropFirst(), item, first.range, type, reader, computed)
    }

    /// `Namespace.*` and names of operations: which ones are selected has no effect, but they must exist.
    private static func checkOperations(
        _ name: WrittenName, _ range: SourceRange, _ model: EntityDataModel
    ) throws(QueryProblem) {
        let namespace = name.namespace ?? ""
        let isKnown =
            name.name == "*"
            ? model.namespaces.contains(model.aliases[namespace] ?? namespace)
            : model.operations[model.resolve(QualifiedName(namespace, name.name))] != nil
        guard isKnown else { throw QueryProblem("The model has no \(name).", at: range) }
    }

    private mutating func add(
        _ name: String, _ rest: ArraySlice<PathSegment>, _ item: SelectItem, _ range: SourceRange,
        _ type: QualifiedName, _ reader: ExpressionReader, _ computed: Set<String>
    ) throws(QueryProblem) {
        let structured = reader.model.structured(type)
        let isKnown =
            computed.contains(name) || structured?.navigation(name) != nil || structured?.isOpen == true
        guard let property = structured?.property(name) else {
            guard isKnown else { throw QueryProblem("\(type.name) has no property \(name).", at: range) }
            guard item.options.isEmpty else {
                throw QueryProblem("\(name) is selected without options.", at: item.path.range, kind: .notSupported)
            }
            if structured?.navigation(name) != nil, let further = rest.first {
                throw QueryProblem("What \(name) leads to is selected in $expand.", at: further.range)
            }
            return note(name, nil)
        }
        if !item.options.isEmpty, !property.type.isCollection, !property.type.type.isStructured, rest.isEmpty {
            throw QueryProblem("\(name) is one value and takes no options.", at: SourceRange(range.end, range.end))
        }
        var paths: [[String]] = rest.isEmpty ? [] : [rest.compactMap { $0.name?.name }]
        paths = try Self.paths(item.options, behind: paths)
        for path in paths { try check(path, property.type, reader, range) }
        note(name, paths.isEmpty || paths.contains([]) ? nil : paths)
    }

    /// The paths that nested options select behind one, each from the property on. Of the other options none is answered.
    private static func paths(
        _ options: [QueryOption], behind paths: [[String]]
    ) throws(QueryProblem) -> [[String]] {
        guard let first = options.first else { return paths }
        guard options.count == 1, case .select(let items) = first.form else {
            let other = options.first { if case .select = $0.form { false } else { true } } ?? first
            throw QueryProblem(
                "Within $select, \(other.form.name ?? "this option") is not answered.", at: other.range,
                kind: .notSupported)
        }
        var selected: [[String]] = []
        for item in items {
            let names = item.path.segments.compactMap { $0.name?.name }
            let own = (paths.isEmpty ? [[]] : paths).map { $0 + names }
            selected += try Self.paths(item.options, behind: own)
        }
        return selected
    }

    private func check(
        _ path: [String], _ type: TypeReference, _ reader: ExpressionReader, _ range: SourceRange
    ) throws(QueryProblem) {
        var type = type
        for name in path {
            guard case .complex(let own) = type.type, let next = reader.model.structured(own)?.property(name) else {
                throw QueryProblem("\(type) has no property \(name).", at: range)
            }
            type = next.type
        }
    }

    private mutating func note(_ name: String, _ paths: [[String]]?) {
        let isNew = !names.contains(name)
        if isNew { names.append(name) }
        guard let paths else {
            members[name] = []
            return
        }
        if isNew { members[name] = paths } else if members[name]?.isEmpty == false { members[name]? += paths }
    }

    func contains(_ name: String) -> Bool { isEverything || names.contains(name) }

    /// Nil: the whole property is selected.
    func members(of name: String) -> [[String]]? {
        members[name].flatMap { $0.isEmpty ? nil : $0 }
    }
}
