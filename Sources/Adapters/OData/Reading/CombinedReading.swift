import AdapterKit
import ODataLanguage
import ODataModel
import ODataQueries
import ODataRecords

/// Reads what is of several sets: `$crossjoin` and `$all` (URL Conventions 4.01, sections 4.15 and 4.16).
struct CombinedReading: Sendable {
    private let desk: ResourceDesk
    private var request: ServiceRequest { desk.request }
    private var tables: ServiceTables { desk.tables }

    init(_ desk: ResourceDesk) {
        self.desk = desk
    }

    func crossJoin(_ sources: [String]) async throws -> DoorAnswer {
        try ResourceDesk.only(["GET"], request)
        for source in sources where tables[source] == nil {
            throw PorticoError(.recordNotFound, "There is no entity set \(source).", target: source)
        }
        let reading = CollectionReading(desk)
        let query = CrossJoinQuery(
            sources, options: request.target.options, pageSize: reading.pageSize, now: desk.service.clock.now())
        let page = try await desk.runner.page(query)
        return desk.answers.json(
            desk.writer.crossJoin(page, next: reading.next(page.next)), headers: reading.applied())
    }

    /// One set after the other, in the order of their names.
    func all(_ type: WrittenName?) async throws -> DoorAnswer {
        try ResourceDesk.only(["GET"], request)
        let sets = try sets(type)
        let reading = CollectionReading(desk)
        let page = try await desk.runner.page(
            SetWalk(sets, options: request.target.options, pageSize: reading.pageSize))
        return desk.answers.json(
            desk.writer.sets(page, next: reading.next(page.next)), headers: reading.applied())
    }

    /// Then sets without a full text have nothing that could be found.
    private var isSearching: Bool {
        request.target.options.contains { if case .search = $0.form { true } else { false } }
    }

    private func sets(_ type: WrittenName?) throws -> [SetWalk.Part] {
        let searched = isSearching ? desk.service.configuration.searched : nil
        let sets = tables.tables.values.filter { table in
            !table.isSingleton && tables.model.container.entitySet(table.source) != nil
                && searched?.contains(table.entity) ?? true
        }.sorted { $0.source < $1.source }
        guard let type else { return sets.map { SetWalk.Part(table: $0, cast: nil) } }
        let name = QualifiedName("\(type)").map(tables.model.resolve)
        guard let name, tables.model.structured(name)?.isEntity == true else {
            throw PorticoError(.recordNotFound, "There is no entity type \(type).", target: "\(type)")
        }
        return sets.compactMap { table in
            if tables.model.type(table.type.name, isA: name) { return SetWalk.Part(table: table, cast: nil) }
            return tables.model.type(name, isA: table.type.name) ? SetWalk.Part(table: table, cast: name) : nil
        }
    }
}

/// Pages that go through several sets.
struct SetWalk: Sendable {
    struct Part: Sendable {
        let table: RecordTable
        let cast: QualifiedName?
    }

    let parts: [Part]
    private let options: [QueryOption]
    private let pageSize: Int

    init(_ parts: [Part], options: [QueryOption], pageSize: Int) {
        self.parts = parts
        self.options = options
        self.pageSize = pageSize
    }

    struct Page: Sendable {
        var pages: [(table: RecordTable, page: ResultPage)] = []
        var count: Int?
        var next: String?
    }

    /// `set.rest.token`: the set that the page begins in, what `$top` still allows, and the token within the set.
    private struct Token {
        var part = 0
        var remaining: Int?
        var inner: String?

        init() {}

        init?(_ text: String) {
            let pieces = text.split(separator: ".", maxSplits: 2, omittingEmptySubsequences: false)
            guard pieces.count == 3, let part = Int(pieces[0]), part >= 0 else { return nil }
            self.part = part
            remaining = Int(pieces[1])
            inner = pieces[2].isEmpty ? nil : String(pieces[2])
        }

        var text: String { "\(part).\(remaining.map(String.init) ?? "").\(inner ?? "")" }
    }

    func page(
        at moment: any RecordMoment, now: WireDate, in tables: ServiceTables, limits: QueryLimits
    ) throws -> Page {
        let plan = { (part: Part, limit: Int?, skip: Int, token: String?) throws in
            try query(part, now, limit: limit, skip: skip, token: token).plan(in: tables, limits: limits)
        }
        var token = Token()
        var skip = 0
        var counts = false
        for option in options {
            switch option.form {
            case .skip(let digits): skip = Int(digits) ?? .max
            case .top(let digits): token.remaining = Int(digits) ?? .max
            case .count(let isWanted): counts = isWanted
            default: continue
            }
        }
        for case .skipToken(let text) in options.map(\.form) {
            guard let read = Token(text) else {
                throw PorticoError(.requestInvalid, "The $skiptoken belongs to another query.", target: "$skiptoken")
            }
            (token, skip) = (read, 0)
        }
        var page = Page()
        if counts {
            page.count = try parts.reduce(0) { try $0 + plan($1, nil, 0, nil).count(at: moment) }
        }
        var room = pageSize
        while token.part < parts.count, token.remaining != 0 {
            guard room > 0 else {
                page.next = token.text
                break
            }
            let part = parts[token.part]
            if skip > 0 {
                let count = try plan(part, nil, 0, nil).count(at: moment)
                if skip >= count {
                    skip -= count
                    token.part += 1
                    continue
                }
            }
            let limit = min(room, token.remaining ?? room)
            let read = try plan(part, limit, skip, token.inner).page(at: moment)
            skip = 0
            page.pages.append((part.table, read))
            room -= read.rows.count
            token.remaining? -= read.rows.count
            token.inner = read.next
            if read.next == nil { token.part += 1 }
        }
        return page
    }

    private func query(
        _ part: Part, _ now: WireDate, limit: Int?, skip: Int, token: String?
    ) -> EntityQuery {
        var own = options.filter { option in
            switch option.form {
            case .top, .skip, .count, .skipToken: false
            default: true
            }
        }
        let nowhere = SourceRange(0, 0)
        if let token { own.append(QueryOption(.skipToken(token), nameRange: nowhere, range: nowhere)) }
        if skip > 0 { own.append(QueryOption(.skip(String(skip)), nameRange: nowhere, range: nowhere)) }
        return EntityQuery(
            part.table.source, cast: part.cast, options: own, pageSize: limit ?? pageSize, now: now)
    }
}

extension ResultWriter {
    func crossJoin(_ page: CrossJoinPage, next: String?) -> [UInt8] {
        var output = JSONOutput()
        begin("Collection(Edm.ComplexType)", count: page.count, to: &output)
        for row in 0..<page.rowCount {
            output.beginObject()
            for part in page.parts {
                if part.isExpanded {
                    output.key(part.source)
                    write(part.rows[row], part.shape, to: &output)
                } else if format.metadata != .none,
                    let path = RowIdentity(tables: tables).path(part.rows[row], part.shape)
                {
                    output.member("\(part.source)@odata.navigationLink", path)
                }
            }
            output.endObject()
        }
        end(next, to: &output)
        return output.bytes
    }

    func sets(_ page: SetWalk.Page, next: String?) -> [UInt8] {
        var output = JSONOutput()
        begin("Collection(Edm.EntityType)", count: page.count, to: &output)
        for part in page.pages {
            for row in part.page.rows {
                write(row, part.page.shape, context: "\(part.table.source)/$entity", to: &output)
            }
        }
        end(next, to: &output)
        return output.bytes
    }
}
