import AdapterKit
import ValueTree

/// The parameters of a list: `filter`, `order`, `limit`, `cursor`, `select`, `search`, `count`.
struct ListQuery: Sendable {
    static let defaultLimit = 100

    var query: Query
    /// The members that are answered; nil: all.
    let select: [FieldName]?

    /// Throws `request.invalid` with the parameter as target; unknown parameters are refused, so that a misspelt one is
    /// not taken for none.
    init(_ target: RequestTarget, entity: Entity, limits: GatewayLimits) throws(PorticoError) {
        try Self.refuseUnknown(target)
        query = Query(
            try Self.filter(target, entity, limits), order: try Self.order(target, entity),
            limit: try Self.limit(target, limits), countsAll: try Self.flag("count", target))
        select = try Self.select(target, entity)
        if let cursor = target["cursor"] { query.start = .after(try CursorText.decode(cursor, for: query)) }
    }

    private static let known: Set<String> = [
        "filter", "order", "limit", "cursor", "select", "search", "count", "format",
    ]

    private static func refuseUnknown(_ target: RequestTarget) throws(PorticoError) {
        var seen: Set<String> = []
        for item in target.query {
            guard known.contains(item.name) else {
                throw PorticoError(.requestInvalid, "There is no such parameter.", target: item.name)
            }
            guard seen.insert(item.name).inserted else {
                throw PorticoError(.requestInvalid, "The parameter is given twice.", target: item.name)
            }
        }
    }

    private static func filter(
        _ target: RequestTarget, _ entity: Entity, _ limits: GatewayLimits
    ) throws(PorticoError) -> Filter? {
        var filter: Filter?
        if let text = target["filter"] {
            guard text.utf8.count <= limits.filter else {
                throw PorticoError(.requestLimitExceeded, "The filter is too long.", target: "filter")
            }
            filter = try FilterParser.parse(text, for: entity)
        }
        guard let words = target["search"]?.split(whereSeparator: \.isWhitespace).map(String.init) else {
            return filter
        }
        return .both(filter, .search(words: words))
    }

    private static func order(_ target: RequestTarget, _ entity: Entity) throws(PorticoError) -> [SortKey] {
        var keys: [SortKey] = []
        for piece in target["order"]?.split(separator: ",") ?? [] {
            let descending = piece.first == "-"
            keys.append(
                SortKey(
                    try field(String(descending ? piece.dropFirst() : piece), "order", entity), descending: descending))
        }
        return keys
    }

    private static func select(_ target: RequestTarget, _ entity: Entity) throws(PorticoError) -> [FieldName]? {
        guard let text = target["select"] else { return nil }
        var names: [FieldName] = []
        for piece in text.split(separator: ",") { names.append(try field(String(piece), "select", entity)) }
        return names
    }

    private static func field(_ name: String, _ parameter: String, _ entity: Entity) throws(PorticoError) -> FieldName {
        guard let field = FieldName(name).flatMap(entity.field) else {
            throw PorticoError(.requestInvalid, "There is no field \(name).", target: parameter)
        }
        return field.name
    }

    private static func limit(_ target: RequestTarget, _ limits: GatewayLimits) throws(PorticoError) -> Int {
        guard let text = target["limit"] else { return min(defaultLimit, limits.page) }
        guard let limit = Int(text), (1...limits.page).contains(limit) else {
            throw PorticoError(.requestInvalid, "The limit is a number from 1 to \(limits.page).", target: "limit")
        }
        return limit
    }

    private static func flag(_ name: String, _ target: RequestTarget) throws(PorticoError) -> Bool {
        switch target[name] {
        case nil, "false": return false
        case "true": return true
        default: throw PorticoError(.requestInvalid, "The value is true or false.", target: name)
        }
    }
}
