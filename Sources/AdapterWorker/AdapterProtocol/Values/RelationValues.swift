import AdapterKit

extension Relation: MessageValue {
    public var message: WireValue {
        .map(
            ("source", source.message), ("joins", joins.message), ("condition", condition?.message),
            ("columns", columns.message), ("isDistinct", isDistinct.message), ("groups", groups?.message),
            ("groupCondition", groupCondition?.message), ("order", order.message), ("start", start.message),
            ("limit", limit?.message), ("window", window?.message))
    }

    public init(message: WireValue) throws {
        let map = try MessageMap(message)
        self.init(
            try map("source"), joins: try map("joins", default: []), where: try map.optional("condition"),
            columns: try map("columns"), isDistinct: try map("isDistinct", default: false),
            groups: try map.optional("groups"), groupCondition: try map.optional("groupCondition"),
            order: try map("order", default: []), start: try map("start", default: .first),
            limit: try map.optional("limit", as: Natural.self)?.number, window: try map.optional("window"))
    }
}

extension Relation.Start: MessageValue {
    public var message: WireValue {
        switch self {
        case .first: "first"
        case .after(let values): .named("after", .array(values))
        case .offset(let count): .named("offset", count.message)
        }
    }

    public init(message: WireValue) throws {
        let one = try MessageCase(message)
        switch one.name {
        case "first": self = .first
        case "after": self = .after(try one.value())
        case "offset": self = .offset(try one.value(as: Natural.self).number)
        default: throw one.unknown
        }
    }
}

extension SourceName: MessageValue {
    public var message: WireValue { number.message }
    public init(message: WireValue) throws { self.init(try Int(message: message)) }
}

extension RelationSource: MessageValue {
    public var message: WireValue {
        switch self {
        case .records(let entity, let name): .named("records", [entity.message, name.message])
        case .rows(let relation, let name): .named("rows", [relation.message, name.message])
        case .union(let relations, let name): .named("union", [relations.message, name.message])
        case .elements(let list, let name): .named("elements", [list.message, name.message])
        case .recursion(let recursion, let name): .named("recursion", [recursion.message, name.message])
        case .found(let name): .named("found", name.message)
        case .one: "one"
        }
    }

    public init(message: WireValue) throws {
        let one = try MessageCase(message)
        switch one.name {
        case "records": self = .records(try one[0, of: 2], as: try one[1, of: 2])
        case "rows": self = .rows(try one[0, of: 2], as: try one[1, of: 2])
        case "union": self = .union(try one[0, of: 2], as: try one[1, of: 2])
        case "elements": self = .elements(of: try one[0, of: 2], as: try one[1, of: 2])
        case "recursion": self = .recursion(try one[0, of: 2], as: try one[1, of: 2])
        case "found": self = .found(as: try one.value())
        case "one": self = .one
        default: throw one.unknown
        }
    }
}

extension Join: MessageValue {
    public var message: WireValue {
        .map(("kind", kind == .left ? "left" : "inner"), ("source", source.message), ("condition", condition.message))
    }

    public init(message: WireValue) throws {
        let map = try MessageMap(message)
        let kind: Kind
        switch try map("kind", as: String.self) {
        case "inner": kind = .inner
        case "left": kind = .left
        default: throw MessageError("there is no such case here", at: "kind")
        }
        self.init(kind, try map("source"), on: try map("condition"))
    }
}

extension RowOrder: MessageValue {
    public var message: WireValue { .map(("expression", expression.message), ("descending", isDescending.message)) }

    public init(message: WireValue) throws {
        let map = try MessageMap(message)
        self.init(try map("expression"), descending: try map("descending", default: false))
    }
}

extension RowWindow: MessageValue {
    public var message: WireValue {
        .map(("groups", groups.message), ("skip", skip.message), ("limit", limit?.message))
    }

    public init(message: WireValue) throws {
        let map = try MessageMap(message)
        self.init(
            by: try map("groups"), skip: try map.optional("skip", as: Natural.self)?.number ?? 0,
            limit: try map.optional("limit", as: Natural.self)?.number)
    }
}

extension Recursion: MessageValue {
    public var message: WireValue { .map(("start", start.message), ("step", step.message), ("order", order.message)) }

    public init(message: WireValue) throws {
        let map = try MessageMap(message)
        self.init(from: try map("start"), step: try map("step"), order: try map("order", default: []))
    }
}

extension Recursion.Criterion: MessageValue {
    public var message: WireValue { .map(("column", column.message), ("descending", isDescending.message)) }

    public init(message: WireValue) throws {
        let map = try MessageMap(message)
        self.init(try map("column", as: Natural.self).number, descending: try map("descending", default: false))
    }
}

extension RowStep: MessageValue {
    public var message: WireValue {
        switch self {
        case .member(let key): .named("member", key.message)
        case .position(let position): .named("position", position.message)
        }
    }

    public init(message: WireValue) throws {
        let one = try MessageCase(message)
        switch one.name {
        case "member": self = .member(try one.value())
        case "position": self = .position(try one.value())
        default: throw one.unknown
        }
    }
}

extension RowSearch: MessageValue {
    public var message: WireValue {
        switch self {
        case .word(let text): .named("word", text.message)
        case .prefix(let text): .named("prefix", text.message)
        case .phrase(let text): .named("phrase", text.message)
        case .all(let searches): .named("all", searches.message)
        case .any(let searches): .named("any", searches.message)
        case .not(let search): .named("not", search.message)
        }
    }

    public init(message: WireValue) throws {
        let one = try MessageCase(message)
        switch one.name {
        case "word": self = .word(try one.value())
        case "prefix": self = .prefix(try one.value())
        case "phrase": self = .phrase(try one.value())
        case "all": self = .all(try one.value())
        case "any": self = .any(try one.value())
        case "not": self = .not(try one.value())
        default: throw one.unknown
        }
    }
}

extension RowExpression.Branch: MessageValue {
    public var message: WireValue { .map(("when", condition.message), ("then", value.message)) }

    public init(message: WireValue) throws {
        let map = try MessageMap(message)
        self.init(when: try map("when"), then: try map("then"))
    }
}

extension RowExpression: MessageValue {
    public var message: WireValue {
        switch self {
        case .field(let source, let field): .named("field", [source.message, field.message])
        case .revision(let source): .named("revision", source.message)
        case .output(let source, let column): .named("output", [source.message, column.message])
        case .element(let source): .named("element", source.message)
        case .value(let value): .named("value", value)
        case .member(let value, let steps, let type):
            .named("member", [value.message, steps.message, type.message])
        case .same(let left, let right): .named("same", [left.message, right.message])
        case .compare(let comparison, let left, let right):
            .named("compare", [comparison.message, left.message, right.message])
        case .isNull(let value): .named("isNull", value.message)
        case .isTrue(let value): .named("isTrue", value.message)
        case .not(let value): .named("not", value.message)
        case .all(let values): .named("all", values.message)
        case .any(let values): .named("any", values.message)
        case .oneOf(let value, let values): .named("oneOf", [value.message, .array(values)])
        case .among(let value, let relation): .named("among", [value.message, relation.message])
        case .exists(let relation): .named("exists", relation.message)
        case .first(let relation): .named("first", relation.message)
        case .found(let source, let search): .named("found", [source.message, search.message])
        case .arithmetic(let operation, let left, let right):
            .named("arithmetic", [operation.message, left.message, right.message])
        case .call(let function, let values): .named("call", [function.message, values.message])
        case .choose(let branches, let otherwise): .named("choose", [branches.message, otherwise.message])
        case .aggregate(let aggregate, let value, let isDistinct):
            .named("aggregate", [aggregate.message, value.message, isDistinct.message])
        case .sumBefore(let value, let groups, let order):
            .named("sumBefore", [value.message, groups.message, order.message])
        case .sumWithin(let value, let groups): .named("sumWithin", [value.message, groups.message])
        }
    }

    public init(message: WireValue) throws {
        let one = try MessageCase(message)
        switch one.name {
        case "field": self = .field(try one[0, of: 2], try one[1, of: 2])
        case "revision": self = .revision(try one.value())
        case "output": self = .output(try one[0, of: 2], (try one[1, of: 2] as Natural).number)
        case "element": self = .element(try one.value())
        case "value": self = .value(one.content)
        case "member": self = .member(try one[0, of: 3], try one[1, of: 3], try one[2, of: 3])
        case "same": self = .same(try one[0, of: 2], try one[1, of: 2])
        case "compare": self = .compare(try one[0, of: 3], try one[1, of: 3], try one[2, of: 3])
        case "isNull": self = .isNull(try one.value())
        case "isTrue": self = .isTrue(try one.value())
        case "not": self = .not(try one.value())
        case "all": self = .all(try one.value())
        case "any": self = .any(try one.value())
        case "oneOf": self = .oneOf(try one[0, of: 2], try one[1, of: 2])
        default: self = try Self.query(one)
        }
    }

    private static func query(_ one: MessageCase) throws -> RowExpression {
        switch one.name {
        case "among": .among(try one[0, of: 2], try one[1, of: 2])
        case "exists": .exists(try one.value())
        case "first": .first(try one.value())
        case "found": .found(try one[0, of: 2], try one[1, of: 2])
        case "arithmetic": .arithmetic(try one[0, of: 3], try one[1, of: 3], try one[2, of: 3])
        case "call": .call(try one[0, of: 2], try one[1, of: 2])
        case "choose": .choose(try one[0, of: 2], otherwise: try one[1, of: 2])
        case "aggregate": .aggregate(try one[0, of: 3], try one[1, of: 3], isDistinct: try one[2, of: 3])
        case "sumBefore": .sumBefore(try one[0, of: 3], by: try one[1, of: 3], order: try one[2, of: 3])
        case "sumWithin": .sumWithin(try one[0, of: 2], by: try one[1, of: 2])
        default: throw one.unknown
        }
    }
}
