import AdapterKit
import ODataEngine
import ODataModel

/// Which entities a navigation property leads to, where no property of theirs tells it: the keys of the related ones, read with
/// the keys of the others.
///
/// A refresh is compared with the links that are there, so an answer that leaves some out may not pass for a whole one: a service
/// that has no link to further entities is held against its own counts, and read by key where it has more.
struct LinkSource: EntitySource {
    /// Entities of one page that is asked for by key.
    private static let pageSize = 1_000
    /// Further pages of one entity's links.
    private static let mostNestedPages = 1_000
    /// No service cuts an expansion off before so many.
    private static let fewestCutOff = 100

    private let near: RecordTable
    private let far: RecordTable
    private let navigation: String
    /// The type that has the property, where it is not that of the set.
    private let derived: QualifiedName?
    private let exchange: EntityExchange
    private let model: EntityDataModel
    private var version: ServableModel.Version { exchange.upstream.version }

    /// Nil where nothing leads over the links.
    init?(link: LinkTable, service: ServiceConfiguration, exchange: EntityExchange) {
        guard let near = service.tables[link.source], let far = service.tables[link.target],
            let navigation = near.navigation(through: link)
        else { return nil }
        self.near = near
        self.far = far
        self.navigation = navigation
        self.exchange = exchange
        model = service.model
        derived =
            near.type.navigation(navigation) == nil
            ? near.family.first { service.model.structured($0)?.navigation(navigation) != nil } : nil
    }

    func page(_ request: MirrorRequest) async throws -> MirrorPage {
        guard let text = request.page else { return try await first(request) }
        switch FeedPlace(text)?.kind {
        case .link(let link):
            let answer = try await exchange.read(try exchange.address(of: link), request)
            return try await page(try exchange.feed(answer), answer, request)
        case .key(let last, _):
            let options =
                options
                + KeyPages(table: near, exchange: exchange, model: model)
                .options(behind: last, size: Self.pageSize)
            let answer = try await exchange.read(try exchange.address(near.source, options), request)
            let feed = try exchange.feed(answer)
            var page = try await page(feed, answer, request)
            // A service with smaller pages has more; only a page without entities is the last one.
            page.next = try lastKey(of: feed.entities, near).map { FeedPlace(.key($0, since: nil)).text }
            return page
        default: throw MirrorRefusal(.unexpected, "there is no such page")
        }
    }

    private func first(_ request: MirrorRequest) async throws -> MirrorPage {
        if near.isSingleton { return try await single(request) }
        let counting = [version == .version4 ? ("$count", "true") : ("$inlinecount", "allpages")]
        do {
            var answer = try await exchange.read(try exchange.address(near.source, options + counting), request)
            if [400, 501].contains(answer.status) {
                answer = try await exchange.read(try exchange.address(near.source, options), request)
            }
            let feed = try exchange.feed(answer)
            // Without a link these are all the entities; a service that says there are more has cut them off.
            if feed.next == nil, let count = feed.count, count > Int64(feed.entities.count) { return Self.byKey }
            return try await page(feed, answer, request)
        } catch let failure as UpstreamFailure where failure.kind == .answerTooLarge {
            return Self.byKey
        }
    }

    private static let byKey = MirrorPage([], next: FeedPlace(.key(nil, since: nil)).text)

    private func single(_ request: MirrorRequest) async throws -> MirrorPage {
        let answer = try await exchange.read(try exchange.address(near.source, options), request)
        if answer.status == 404 || answer.status == 204 { return MirrorPage([], age: answer.age) }
        return try await page(try exchange.feed(answer, isSingle: true), answer, request)
    }

    private func page(
        _ feed: EntityFeed, _ answer: UpstreamResponse, _ request: MirrorRequest
    ) async throws -> MirrorPage {
        let base = exchange.base(feed.context, of: answer)
        var all: [Links] = []
        for entity in feed.entities { all.append(try await completed(links(of: entity), base, request)) }
        let most = all.map(\.related.count).max() ?? 0
        var page = MirrorPage([], age: answer.age)
        for links in all {
            let isSuspect = most >= Self.fewestCutOff && links.related.count == most && !links.isPaged
            page.rows += try pairs(isSuspect ? try await uncut(links, request) : links)
        }
        page.next = try feed.next.map { FeedPlace(.link(try exchange.link($0, from: base).description)).text }
        return page
    }

    // As `SetSource.page(in:_:_:)`, those that are not inlined: not within a function that waits.
    /// Nil: there are none.
    @inline(never) private func lastKey(of entities: [WireValue], _ table: RecordTable) throws -> [String]? {
        guard let entity = entities.last else { return nil }
        guard let row = rows(table).row(entity) else { throw MirrorRefusal(.unexpected, "an entity is no object") }
        return try KeyPages(table: table, exchange: exchange, model: model).key(of: row)
    }

    @inline(never) private func related(in answer: UpstreamResponse) throws -> [WireValue] {
        try exchange.feed(answer).entities
    }

    // MARK: Addresses

    /// The property's name behind that of the type that has it.
    private var path: String { derived.map { "\($0)/\(navigation)" } ?? navigation }

    private var options: [(String, String)] {
        let own = near.keyNames
        let others = far.keyNames
        guard version != .version4 else {
            let nested = others.isEmpty ? "" : "($select=\(others.joined(separator: ",")))"
            return (own.isEmpty ? [] : [("$select", own.joined(separator: ","))]) + [("$expand", path + nested)]
        }
        return [("$select", (own + others.map { "\(path)/\($0)" }).joined(separator: ",")), ("$expand", path)]
    }

    private func rows(_ table: RecordTable) -> EntityRows { EntityRows(table: table, model: model, version: version) }

    // MARK: Links

    /// The related entities of one entity, as far as they were read.
    private struct Links {
        let id: RecordID
        var related: [WireValue]
        /// Where the rest is.
        var next: String?
        /// Whether the service says where the rest is, or that there is none.
        var isPaged: Bool
    }

    @inline(never) private func links(of entity: WireValue) throws -> Links {
        let reading = rows(near)
        guard let own = reading.row(entity), let id = reading.id(of: own) else {
            throw MirrorRefusal(.unexpected, "an entity has no key")
        }
        let known = Links(id: id, related: [], next: nil, isPaged: true)
        guard let value = entity[navigation], value["__deferred"] == nil else {
            let isOther = derived.map { type in
                !(near.discriminator.flatMap { own[$0.text]?.stringValue }.flatMap { QualifiedName($0) }
                    .map { model.type($0, isA: type) } ?? false)
            }
            // Not expanded: nothing is known, which is not that there are none.
            if isOther ?? false || version == .version4 && near.isSingle(navigation) { return known }
            throw MirrorRefusal(.unexpected, "the answer does not expand \(navigation)")
        }
        guard let items = value.arrayValue ?? value["results"]?.arrayValue else {
            return Links(id: id, related: value.isNull ? [] : [value], next: nil, isPaged: true)
        }
        let next = try EntityFeed.link(
            entity["\(navigation)@odata.nextLink"] ?? entity["\(navigation)@nextLink"] ?? value["__next"])
        return Links(id: id, related: items, next: next, isPaged: next != nil)
    }

    /// With all pages that the service leads to.
    private func completed(
        _ links: Links, _ base: UpstreamAddress, _ request: MirrorRequest
    ) async throws -> Links {
        var links = links
        var base = base
        var pages = 0
        while let link = links.next {
            pages += 1
            guard pages <= Self.mostNestedPages else { throw Self.endless }
            let answer = try await exchange.read(try exchange.link(link, from: base), request)
            let feed = try exchange.feed(answer)
            base = exchange.base(feed.context, of: answer)
            links.related += feed.entities
            links.next = feed.next
        }
        return links
    }

    private static let endless = MirrorRefusal(.unexpected, "the links of one entity do not end")

    /// With those that the service has left out of the expansion without a word. One that does not count is believed.
    private func uncut(_ links: Links, _ request: MirrorRequest) async throws -> Links {
        let count = try await exchange.read(try address(of: links.id, "/$count", []), request)
        guard count.isSuccess, let number = Self.number(count.body), number > links.related.count else { return links }
        let pages = KeyPages(table: far, exchange: exchange, model: model)
        var whole = links
        whole.related = []
        var last: [String]?
        for _ in 0..<Self.mostNestedPages {
            let options =
                pages.options(behind: last, size: Self.pageSize)
                + [("$select", far.keyNames.joined(separator: ","))]
            let found = try related(in: try await exchange.read(try address(of: links.id, "", options), request))
            last = try lastKey(of: found, far)
            guard last != nil else { return whole }
            whole.related += found
        }
        throw Self.endless
    }

    @inline(never) private func address(
        of id: RecordID, _ suffix: String, _ options: [(String, String)]
    ) throws -> UpstreamAddress {
        try exchange.address(try exchange.path(of: id, in: near, model) + "/" + path + suffix, options)
    }

    /// A text that is a number, with or without a byte order mark.
    private static func number(_ body: [UInt8]) -> Int? {
        Int(String(decoding: body.drop { $0 > 0x7f }, as: UTF8.self).filter { !$0.isWhitespace })
    }

    @inline(never) private func pairs(_ links: Links) throws -> [WireDictionary] {
        let reading = rows(far)
        return try links.related.map { other in
            guard let row = reading.row(other), let id = reading.id(of: row) else {
                throw MirrorRefusal(.unexpected, "a related entity has no key")
            }
            return [
                LinkTable.key.text: .string(LinkTable.pair(links.id, id)),
                LinkTable.near.text: near.keyValue(of: links.id), LinkTable.far.text: far.keyValue(of: id),
            ]
        }
    }
}

extension RecordTable {
    /// The navigation property whose links these are; nil: there is none of this set.
    fileprivate func navigation(through link: LinkTable) -> String? {
        relations.filter { relation in
            guard case .links(_, link.entity, LinkTable.near, _, _) = relation.value else { return false }
            return true
        }.keys.sorted().first
    }

    fileprivate func isSingle(_ navigation: String) -> Bool {
        relations[navigation].map { !$0.isCollection } ?? false
    }
}
