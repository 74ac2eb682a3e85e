import AdapterKit
import HTTPTypes
import NearestNames
import RecordStorage
import ValueTree
import WireFormats

/// `GET /api/v1/{adapter}/{entity}`: a page of records.
struct ListEndpoint: Endpoint {
    let resource: EntityResource

    var properties: EndpointProperties { resource.properties("list", .reads) }

    var description: EndpointDescription {
        var description = resource.description(
            "A page of records.", [(.ok, .value(.object(resource.entity.pageShape)))], hasTag: false, reads: true)
        description.parameters = [
            .query("filter", .string, "Which records, such as `\(FilterExamples(resource.entity).first)`."),
            .query("search", .string, "Words of the search fields."),
            .query("order", .string, "Fields by comma; `-` descends."),
            .query("select", .string, "Fields by comma."),
            .query("limit", .integer(IntegerRange(1...Int64(resource.services.limits.page))), "Records of a page."),
            .query("cursor", .string, "`next` of the page before; `filter` and `order` stay."),
            .query("count", .bool, "Whether `total` is answered."),
            .query("format", .string, "A format's name such as `xml`, over `Accept`.").shared(as: "Format"),
        ]
        description.errors.formUnion([.cursorInvalid, .searchUnavailable, .requestLimitExceeded])
        return description
    }

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        let isPage = try resource.services.encoder.choice(for: request.request, presentation: Presentation()).isPage
        if isPage, let address = RecordFilterForm.address(request.request.target, resource.entity) {
            return GatewayResponse(.seeOther, headers: [.location: address, .cacheControl: "no-store"])
        }
        var list = try ListQuery(request.request.target, entity: resource.entity, limits: resource.services.limits)
        if isPage { list.suitPage() }
        let page = try await resource.records(for: request).query(
            list.query, in: resource.entity.name, atMost: resource.services.limits.pageBytes)
        let next = try page.next.map { try CursorText.encode($0, for: list.query) }
        return try resource.services.encoder.write(
            value(page, list, next), to: request.request, presentation: Presentation(), validators: nil,
            page: { [list] links in
                RecordListPage(
                    served: resource.served, addresses: resource.addresses, page: page, next: next, list: list,
                    links: links
                ).html
            })
    }

    private func value(_ page: RecordPage, _ list: ListQuery, _ next: String?) -> WireValue {
        var members: WireDictionary = [
            "items": .array(page.records.map { .dictionary($0.fields.selecting(list.select)) })
        ]
        if let next { members["next"] = .string(next) }
        if let total = page.total { members["total"] = .int64(Int64(total)) }
        return .dictionary(members)
    }
}

/// The parameters of a list: `filter`, `order`, `limit`, `cursor`, `select`, `search`, `count`.
struct ListQuery: Sendable {
    static let defaultLimit = 100

    var query: Query
    /// The members that are answered; nil: all.
    let select: [FieldName]?
    /// The caller's own limit.
    private let limitGiven: Int?

    /// Throws `request.invalid` with the parameter as target; unknown parameters are refused, so that a misspelt one is
    /// not taken for none.
    init(_ target: RequestTarget, entity: Entity, limits: GatewayLimits) throws(PorticoError) {
        try Self.refuseUnknown(target)
        limitGiven = try Self.limit(target, limits)
        query = Query(
            try Self.filter(target, entity, limits), order: try Self.order(target, entity),
            limit: limitGiven ?? min(Self.defaultLimit, limits.page), countsAll: try Self.flag("count", target))
        select = try Self.select(target, entity)
        if let cursor = target["cursor"] { query.start = .after(try CursorText.decode(cursor, for: query)) }
    }

    /// As many as a page for people shows, and how many there are in all.
    mutating func suitPage() {
        query.limit = min(query.limit, limitGiven == nil ? RecordListPage.defaultLimit : RecordListPage.maximumLimit)
        query.countsAll = true
    }

    private static let known: Set<String> = [
        "filter", "order", "limit", "cursor", "select", "search", "count", "format",
    ]

    private static func refuseUnknown(_ target: RequestTarget) throws(PorticoError) {
        var seen: Set<String> = []
        for item in target.query {
            guard known.contains(item.name) else {
                let near = NearestName.sentence(item.name, among: known)
                throw PorticoError(.requestInvalid, "There is no such parameter.\(near)", target: item.name)
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
            let field = try field(String(descending ? piece.dropFirst() : piece), "order", entity)
            guard field.isSortable else {
                throw PorticoError(
                    .requestInvalid, "\(entity.name) cannot be ordered by \(field.name).", target: "order")
            }
            keys.append(SortKey(field.name, descending: descending))
        }
        return keys
    }

    private static func select(_ target: RequestTarget, _ entity: Entity) throws(PorticoError) -> [FieldName]? {
        guard let text = target["select"] else { return nil }
        var names: [FieldName] = []
        for piece in text.split(separator: ",") { names.append(try field(String(piece), "select", entity).name) }
        return names
    }

    private static func field(_ name: String, _ parameter: String, _ entity: Entity) throws(PorticoError) -> Field {
        guard let field = FieldName(name).flatMap(entity.field) else {
            let near = NearestName.sentence(name, among: entity.fields.map(\.name.text))
            throw PorticoError(.requestInvalid, "There is no field \(name).\(near)", target: parameter)
        }
        return field
    }

    private static func limit(_ target: RequestTarget, _ limits: GatewayLimits) throws(PorticoError) -> Int? {
        try target.number("limit", in: 1...limits.page)
    }

    private static func flag(_ name: String, _ target: RequestTarget) throws(PorticoError) -> Bool {
        switch target[name] {
        case nil, "false": return false
        case "true": return true
        default: throw PorticoError(.requestInvalid, "The value is true or false.", target: name)
        }
    }
}

/// A cursor as callers carry it: opaque, URL-safe, bound to the order it belongs to.
///
/// Format: base64url of CBOR `[order fingerprint, [values]]`. It needs no signature: a forged one only asks for another
/// place in rows that the caller may read anyway.
enum CursorText {
    static func encode(_ cursor: Cursor, for query: Query) throws -> String {
        let value = WireValue.array([.string(fingerprint(query)), .array(cursor.values)])
        return Base64URL.encode(try CBORFormat().write(value))
    }

    static func decode(_ text: String, for query: Query) throws(PorticoError) -> Cursor {
        guard let bytes = Base64URL.decode(text),
            let parts = try? CBORFormat().read(bytes, limits: ReadingLimits(depth: 8, values: 64)).arrayValue,
            parts.count == 2, parts[0] == .string(fingerprint(query)), let values = parts[1].arrayValue,
            values.count == query.order.count + 1
        else { throw PorticoError(.cursorInvalid, "The cursor does not belong to this list.", target: "cursor") }
        return Cursor(values: values)
    }

    private static func fingerprint(_ query: Query) -> String {
        query.order.map { ($0.isDescending ? "-" : "") + $0.field.text }.joined(separator: ",")
    }
}
