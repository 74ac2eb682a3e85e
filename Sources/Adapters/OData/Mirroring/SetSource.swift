import AdapterKit
import ODataEngine
import ODataLanguage
import ODataModel
import Synchronization
import WireFormats

/// The rows of one set of another system: all of them, page by page, and what has changed since.
///
/// Pages follow the service's links. A service that has none and leaves rows out, or whose answer is too long, is asked by key:
/// so many rows behind the last one. Changes come by the service's own delta links, or by a property that tells when an entity was changed.
final class SetSource: EntitySource {
    /// Rows of one page that is asked for.
    static let pageSize = 5_000
    /// After this time a set with a property of change is read whole, which shows what is gone.
    static let wholeAfter = 86_400.0
    /// A `$select` that would be longer is left out.
    private static let longestSelection = 4_000

    let service: ServiceConfiguration
    let upstream: ServiceUpstream
    let table: RecordTable
    let exchange: EntityExchange
    /// Of all sets of the service.
    let session: WriteSession
    private let records: any RecordStore
    private let clock: any WallClock
    /// Which options the service has refused so far: 1: `$count` and `$inlinecount`, 2: `$select` as well.
    private let refused = Mutex(0)

    init(
        _ table: RecordTable, of service: ServiceConfiguration, in upstream: ServiceUpstream, session: WriteSession,
        records: any RecordStore, clock: any WallClock
    ) {
        self.table = table
        self.service = service
        self.upstream = upstream
        self.session = session
        exchange = session.exchange
        self.records = records
        self.clock = clock
    }

    private var model: EntityDataModel { service.model }
    var rows: EntityRows { EntityRows(table: table, model: model, version: upstream.version) }
    private var change: RecordColumn? { upstream.changeProperties[table.source].flatMap { table.columns[$0] } }

    func page(_ request: MirrorRequest) async throws -> MirrorPage {
        if let text = request.page {
            guard let place = FeedPlace(text) else {
                throw MirrorRefusal(.unexpected, "there is no such page")
            }
            return try await page(at: place, request)
        }
        guard let text = request.since else { return try await first(request) }
        guard let cursor = FeedCursor(text), cursor.shape == shape else { throw Self.fetchAgain }
        switch cursor.kind {
        case .delta(let address): return try await page(at: FeedPlace(.changes(address)), request)
        case .since(let newest, let whole):
            let age = clock.now().secondsSinceReferenceDate - whole.secondsSinceReferenceDate
            // A clock that was set back makes it due as well.
            guard change != nil, age >= 0, age < Self.wholeAfter else { throw Self.fetchAgain }
            return try await page(at: FeedPlace(.key(nil, since: newest), newest: newest, whole: whole), request)
        }
    }

    private static let fetchAgain = PorticoError(.fetchAgain, "Every row is fetched again.")

    // MARK: Pages

    /// Every row, with as many options as the service takes.
    private func first(_ request: MirrorRequest) async throws -> MirrorPage {
        if table.isSingleton { return try await single(request) }
        var without = refused.withLock { $0 }
        while true {
            do {
                let answer = try await exchange.read(
                    exchange.address(table.source, options(without)), request, prefers: true)
                if [400, 501].contains(answer.status), without < 2 {
                    without += 1
                    continue
                }
                let feed = try exchange.feed(answer)
                // Only an answer shows that it was the options: a service that fails for a while keeps them.
                refused.withLock { $0 = without }
                // Without a link these are all the entities; a service that says there are more has cut them off.
                if feed.next == nil, let count = feed.count, count > Int64(feed.entities.count) {
                    return MirrorPage([], next: FeedPlace(.key(nil, since: nil)).text)
                }
                return try page(feed, from: answer, FeedPlace(.link("")))
            } catch let failure as UpstreamFailure where failure.kind == .answerTooLarge {
                return MirrorPage([], next: FeedPlace(.key(nil, since: nil)).text)
            }
        }
    }

    private func single(_ request: MirrorRequest) async throws -> MirrorPage {
        let answer = try await exchange.read(exchange.address(table.source, []), request)
        if answer.status == 404 || answer.status == 204 { return MirrorPage([], age: answer.age) }
        let feed = try exchange.feed(answer, isSingle: true)
        return MirrorPage(
            feed.entities.compactMap(rows.row).map { row in
                var row = row
                row[table.keyField.text] = .string(table.source)
                return row
            }, age: answer.age)
    }

    private func page(at place: FeedPlace, _ request: MirrorRequest) async throws -> MirrorPage {
        switch place.kind {
        case .link(let link):
            let answer = try await exchange.read(try exchange.address(of: link), request, prefers: true)
            return try page(try exchange.feed(answer), from: answer, place)
        case .changes(let link): return try await changes(link, place, request)
        case .key(let last, let since): return try await page(behind: last, since, place, request)
        }
    }

    @inline(never) private func page(
        _ feed: EntityFeed, from answer: UpstreamResponse, _ place: FeedPlace
    ) throws -> MirrorPage {
        let found = try read(feed)
        var page = MirrorPage(found, age: answer.age)
        let base = exchange.base(feed.context, of: answer)
        if let next = feed.next {
            page.next =
                place.following(.link(try exchange.link(next, from: base).description), newest(place, found)).text
        } else if let delta = feed.delta {
            let link = try exchange.link(delta, from: base).description
            page.cursor = FeedCursor(.delta(link), shape: shape).text
        } else {
            page.cursor = cursor(place, found)
        }
        return page
    }

    /// So many rows behind a key, in its order.
    private func page(
        behind last: [String]?, _ since: String?, _ place: FeedPlace, _ request: MirrorRequest
    ) async throws -> MirrorPage {
        let answer = try await exchange.read(exchange.address(table.source, query(behind: last, since)), request)
        return try page(in: answer, since, place)
    }

    private func query(behind last: [String]?, _ since: String?) -> [(String, String)] {
        var condition: String?
        if let change, let since, let value = literal(since, of: change) {
            condition = "\(change.property) ge \(value)"
        }
        var query = pages.options(behind: last, size: Self.pageSize, where: condition)
        if refused.withLock({ $0 }) < 2, let selection { query.append(("$select", selection)) }
        return query
    }

    private var pages: KeyPages { KeyPages(table: table, exchange: exchange, model: model) }

    // Inlined into the function that waits for the answer, it crashes the optimizer of Swift 6.3.1 (splitting of coroutines).
    @inline(never) private func page(
        in answer: UpstreamResponse, _ since: String?, _ place: FeedPlace
    ) throws -> MirrorPage {
        let found = try read(try exchange.feed(answer))
        var page = MirrorPage(found, age: answer.age)
        // A service with smaller pages has more; only a page without rows is the last one.
        if let row = found.last {
            page.next = place.following(.key(try pages.key(of: row), since: since), newest(place, found)).text
        } else {
            page.cursor = cursor(place, found)
        }
        return page
    }

    private func read(_ feed: EntityFeed) throws -> [WireDictionary] {
        try feed.entities.map { entity in
            guard let row = rows.row(entity) else { throw MirrorRefusal(.unexpected, "an entity is no object") }
            return row
        }
    }

    // MARK: Options

    /// Without what the service refused.
    private func options(_ without: Int) -> [(String, String)] {
        var options: [(String, String)] = []
        if without < 2, let selection { options.append(("$select", selection)) }
        if without < 1 {
            options.append(upstream.version == .version4 ? ("$count", "true") : ("$inlinecount", "allpages"))
        }
        return options
    }

    /// What the model has; nil where an entity may have more, or other properties than its set's type.
    private var selection: String? {
        guard table.family.count == 1, !table.type.isOpen else { return nil }
        let names = table.type.properties.map(\.name).filter { table.columns[$0] != nil }
        let text = names.joined(separator: ",")
        return text.utf8.count <= Self.longestSelection ? text : nil
    }

    /// What a cursor is good for: after another model or at another address it is not.
    private var shape: String {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in "\(upstream.path) \(table.source) \(selection ?? "") \(change?.property ?? "")".utf8 {
            hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3
        }
        return String(hash, radix: 36)
    }

    // MARK: Changes

    /// By a delta link. What the service does not know any more is read whole.
    private func changes(_ link: String, _ place: FeedPlace, _ request: MirrorRequest) async throws -> MirrorPage {
        guard let address = try? exchange.address(of: link) else { throw Self.fetchAgain }
        let answer = try await exchange.readChanges(address, request)
        var page = try changes(in: answer)
        page.rows = try await completed(page.rows)
        return page
    }

    // As `page(in:_:_:)`: not within a function that waits.
    @inline(never) private func changes(in answer: UpstreamResponse) throws -> MirrorPage {
        guard ![400, 404, 410].contains(answer.status) else { throw Self.fetchAgain }
        var page: MirrorPage
        let removed: [String]
        let (next, delta): (String?, String?)
        var base = answer.address
        if upstream.version == .version4 {
            let feed = try exchange.feed(answer)
            page = MirrorPage(try read(feed), age: answer.age)
            (removed, next, delta) = (feed.removed, feed.next, feed.delta)
            base = exchange.base(feed.context, of: answer)
        } else {
            let feed = try exchange.changes(answer)
            // What cannot be read is read again as JSON, where each value is taken by itself.
            let found = feed.entries.map { entry in (try? rows.row(entry)) ?? nil }
            guard found.allSatisfy({ $0 != nil }) else { throw Self.fetchAgain }
            page = MirrorPage(found.compactMap { $0 }, age: answer.age)
            (removed, next, delta) = (feed.removed, feed.next, feed.delta)
        }
        for place in removed {
            guard let id = exchange.id(of: place, in: table, service.tables, service.limits.language) else {
                throw Self.fetchAgain
            }
            page.removed.append(id)
        }
        if let next {
            page.next = FeedPlace(.changes(try exchange.link(next, from: base).description)).text
        } else if let delta {
            page.cursor = FeedCursor(.delta(try exchange.link(delta, from: base).description), shape: shape).text
        } else {
            throw MirrorRefusal(.unexpected, "the last page of changes does not say where the next ones are")
        }
        return page
    }

    /// A change may have the changed properties alone (Protocol 4.01, section 11.3): the others are as they are here.
    private func completed(_ found: [WireDictionary]) async throws -> [WireDictionary] {
        var completed: [WireDictionary] = []
        for row in found {
            guard !table.columns.values.allSatisfy({ row[$0.field.text] != nil }), let id = rows.id(of: row),
                let known = try await records.record(id, in: table.entity)
            else {
                completed.append(row)
                continue
            }
            var whole = row
            for column in table.columns.values where whole[column.field.text] == nil {
                whole[column.field.text] = known[column.field]
            }
            completed.append(whole)
        }
        return completed
    }

    // MARK: The property of change

    private func cursor(_ place: FeedPlace, _ found: [WireDictionary]) -> String? {
        guard change != nil, let newest = newest(place, found) else { return nil }
        return FeedCursor(.since(newest, whole: place.whole ?? clock.now()), shape: shape).text
    }

    /// The largest value of it so far, as a text.
    private func newest(_ place: FeedPlace, _ found: [WireDictionary]) -> String? {
        guard let change else { return nil }
        var newest = place.newest
        for row in found {
            guard let value = row[change.field.text],
                let text = StoredValueCodec(model: model).text(of: value, type: change.type)
            else { continue }
            if newest.map({ isOrdered($0, text, change) }) ?? true { newest = text }
        }
        return newest
    }

    private func isOrdered(_ left: String, _ right: String, _ column: RecordColumn) -> Bool {
        if let left = Int64(left), let right = Int64(right) { return left < right }
        if let left = WireDate(rfc3339: left), let right = WireDate(rfc3339: right) { return left < right }
        return left.utf8.lexicographicallyPrecedes(right.utf8)
    }

    private func literal(_ text: String, of column: RecordColumn) -> String? {
        StoredValueCodec(model: model).value(text: text, type: column.type)
            .flatMap { exchange.literal($0, column.type, model) }
    }
}

/// Where the next page of a refresh is.
struct FeedPlace: Sendable, Equatable {
    enum Kind: Sendable, Equatable {
        /// A link of the service's.
        case link(String)
        /// A link within changes.
        case changes(String)
        /// Behind the key with these literals, or from the first one on; those changed since a value of the property of change.
        case key([String]?, since: String?)
    }

    let kind: Kind
    /// The largest value of the property of change so far.
    var newest: String?
    /// When every row was read last, in a refresh that reads some.
    var whole: WireDate?

    init(_ kind: Kind, newest: String? = nil, whole: WireDate? = nil) {
        (self.kind, self.newest, self.whole) = (kind, newest, whole)
    }

    func following(_ kind: Kind, _ newest: String?) -> FeedPlace { FeedPlace(kind, newest: newest, whole: whole) }

    /// Nil for a text that ``text`` did not make.
    init?(_ text: String) {
        guard let members = (try? JSONFormat().read(Array(text.utf8)))?.dictionaryValue else { return nil }
        if let link = members["link"]?.stringValue {
            kind = .link(link)
        } else if let link = members["changes"]?.stringValue {
            kind = .changes(link)
        } else if let key = members["key"] {
            kind = .key(key.arrayValue?.compactMap(\.stringValue), since: members["since"]?.stringValue)
        } else {
            return nil
        }
        newest = members["newest"]?.stringValue
        whole = members["whole"]?.stringValue.flatMap { WireDate(rfc3339: $0) }
    }

    var text: String {
        var members = WireDictionary()
        switch kind {
        case .link(let link): members["link"] = .string(link)
        case .changes(let link): members["changes"] = .string(link)
        case .key(let key, let since):
            members["key"] = key.map { .array($0.map { .string($0) }) } ?? .null
            members["since"] = since.map { .string($0) }
        }
        members["newest"] = newest.map { .string($0) }
        members["whole"] = whole?.rfc3339.map { .string($0) }
        return Self.text(members)
    }

    static func text(_ members: WireDictionary) -> String {
        // Texts alone, which JSON has.
        String(decoding: (try? JSONFormat().write(.dictionary(members))) ?? [], as: UTF8.self)
    }
}

/// Since what changes are asked for, and for which properties.
struct FeedCursor: Sendable, Equatable {
    enum Kind: Sendable, Equatable {
        case delta(String)
        /// A value of the property of change, and when every row was read.
        case since(String, whole: WireDate)
    }

    let kind: Kind
    let shape: String

    init(_ kind: Kind, shape: String) {
        (self.kind, self.shape) = (kind, shape)
    }

    /// Nil for a text that ``text`` did not make.
    init?(_ text: String) {
        guard let members = (try? JSONFormat().read(Array(text.utf8)))?.dictionaryValue,
            let shape = members["shape"]?.stringValue
        else { return nil }
        if let link = members["delta"]?.stringValue {
            self.init(.delta(link), shape: shape)
        } else if let newest = members["since"]?.stringValue,
            let whole = members["whole"]?.stringValue.flatMap({ WireDate(rfc3339: $0) })
        {
            self.init(.since(newest, whole: whole), shape: shape)
        } else {
            return nil
        }
    }

    var text: String {
        var members: WireDictionary = ["shape": .string(shape)]
        switch kind {
        case .delta(let link): members["delta"] = .string(link)
        case .since(let newest, let whole):
            members["since"] = .string(newest)
            members["whole"] = .string(whole.rfc3339 ?? "2001-01-01T00:00:00Z")
        }
        return FeedPlace.text(members)
    }
}
