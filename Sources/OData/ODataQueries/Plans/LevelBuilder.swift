import AdapterKit
import ODataLanguage
import ODataModel
import ODataRecords

/// Makes one level's plan: its rows' condition, order and columns, and the levels below.
struct LevelBuilder {
    let reader: ExpressionReader
    let limits: QueryLimits
    let options: CollectedOptions
    let place: EntityPlace
    /// How many levels are around this one.
    let depth: Int
    private var ground: ExpressionScope
    private var list = ColumnList()
    private let selection: Selection?

    init(
        _ reader: ExpressionReader, _ options: CollectedOptions, _ place: EntityPlace, limits: QueryLimits, depth: Int
    ) throws(QueryProblem) {
        self.reader = reader
        self.limits = limits
        self.options = options
        self.place = place
        self.depth = depth
        ground = ExpressionScope(.entity(place))
        for item in options.compute {
            guard ground.computed[item.name] == nil, reader.model.structured(place.type)?.property(item.name) == nil
            else { throw QueryProblem("There is a property \(item.name) already.", at: item.nameRange) }
            let known = ground
            ground.computed[item.name] = try reader.numbering.naming(item.name) { () throws(QueryProblem) in
                try reader.read(item.expression, on: known)
            }
        }
        let computed = Set(ground.computed.keys)
        if let items = options.select {
            selection = try Selection(items, type: place.type, reader, computed: computed)
        } else {
            selection = nil
        }
        try restrictions.check(options)
    }

    /// What the set does not take of the options.
    var restrictions: RestrictionCheck {
        RestrictionCheck(
            source: place.table.source, restrictions: reader.model.restrictions(of: place.table.source),
            aliases: reader.aliases)
    }

    /// `$filter` and `$search`.
    func condition() throws(QueryProblem) -> RowExpression? {
        var condition: RowExpression?
        if let filter = options.filter { condition = try reader.condition(filter, on: ground) }
        if let search = options.search {
            let found = RowExpression.found(place.source, try reader.read(search.expression, search.range))
            condition = reader.both(condition, found)
        }
        return condition
    }

    /// The order that was asked for, made total by the key, which goes in the last criterion's direction.
    func order() throws(QueryProblem) -> [RowOrder] {
        var order: [RowOrder] = []
        for item in options.order {
            let meaning = try reader.read(item.expression, on: ground)
            if let type = meaning.type, reader.model.kind(of: type) == .tree {
                throw QueryProblem("Values of the type \(type) have no order.", at: item.expression.range)
            }
            order.append(RowOrder(meaning.expression, descending: item.descending))
        }
        let key = RowExpression.field(place.source, place.table.keyField)
        if order.contains(where: { $0.expression == key }) { return order }
        return order + [RowOrder(key, descending: order.last?.isDescending ?? false)]
    }

    /// The level, from rows of `source` for which `belongs` is true.
    mutating func level(
        _ source: RelationSource, joins: [Join] = [], where belongs: RowExpression?
    ) throws(QueryProblem) -> LevelPlan {
        if depth == 0 {
            ground.these = AppliedRows(source: source, joins: joins, condition: belongs, content: .entities(place))
        }
        let condition = reader.both(belongs, try condition())
        let order = try order()
        addProperties()
        let expansions = try expand()
        let orderColumns = order.map { list.position(of: $0.expression, .string) }
        let revision = list.position(of: .revision(place.source), .int64)
        let type = place.table.discriminator.map { list.position(of: .field(place.source, $0), .string) }
        let dynamic = place.table.dynamicField.map {
            list.position(of: .field(place.source, $0), TypeReference(.abstract("Untyped")))
        }
        let mediaTypes = mediaTypes()
        let shape = ResultShape(
            table: place.table, type: place.type, columns: list.columns, expansions: expansions.map(\.result),
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
        for type in place.table.family.compactMap({ reader.model.structured($0) }) {
            for property in type.properties where seen.insert(property.name).inserted {
                guard let column = place.table.columns[property.name] else { continue }
                add(property, column)
            }
        }
        for (name, meaning) in ground.computed.sorted(by: { $0.key < $1.key }) where selection?.contains(name) ?? true {
            list.add(ResultColumn([name], meaning.type ?? .string), meaning.expression)
        }
    }

    /// Keys are always there: links and ids are made of them.
    private mutating func add(_ property: StructuralProperty, _ column: RecordColumn) {
        let isVisible = selection?.contains(property.name) ?? true
        guard isVisible || place.table.keyNames.contains(property.name) else { return }
        list.add(
            ResultColumn(
                [property.name], property.type, isVisible: isVisible, members: selection?.members(of: property.name)),
            .field(place.source, column.field))
    }

    private var streams: [String] {
        place.table.streams.keys.sorted().filter { name in
            name == "$value" || (selection?.contains(name) ?? true)
        }
    }

    private mutating func mediaTypes() -> [String: Int] {
        var columns: [String: Int] = [:]
        for name in streams {
            guard let fields = place.table.streams[name] else { continue }
            columns[name] = list.position(of: .field(place.source, fields.mediaType), .string)
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
