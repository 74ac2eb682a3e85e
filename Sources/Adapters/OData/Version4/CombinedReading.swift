import AdapterKit
import ODataEngine
import ODataLanguage
import ODataModel

/// Handles requests that read several sets: `$crossjoin` and `$all` (URL Conventions 4.01, sections 4.15 and 4.16).
struct CombinedReading: Sendable {
    private let handler: ResourceHandler
    private var request: ServiceRequest { handler.request }
    private var tables: ServiceTables { handler.tables }

    init(_ handler: ResourceHandler) {
        self.handler = handler
    }

    func crossJoin(_ sources: [String]) async throws -> MountResponse {
        try ResourceHandler.only(["GET"], request)
        try OptionRules(request).checkCombined()
        for source in sources where tables[source] == nil {
            throw PorticoError(.recordNotFound, "There is no entity set \(source).", target: source)
        }
        let reading = CollectionReading(handler)
        let query = CrossJoinQuery(
            sources, options: request.target.options, pageSize: reading.pageSize, now: handler.service.clock.now())
        let writer = handler.writer
        if query.isApplied {
            let plan = try handler.runner.applied(query)
            return try await reading.rows("Collection(Edm.ComplexType)", plan) { row, output in
                writer.write(row, plan.shape, to: &output)
            }
        }
        let plan = try handler.runner.plan(query)
        return try await reading.rows("Collection(Edm.ComplexType)", plan) { row, output in
            writer.crossJoin(row, plan.parts, to: &output)
        }
    }

    /// One set after the other, in the order of their names.
    func all(_ type: WrittenName?) async throws -> MountResponse {
        try ResourceHandler.only(["GET"], request)
        try OptionRules(request).checkCombined()
        let sets = try sets(type)
        let reading = CollectionReading(handler)
        let walk = try MultiSetPaging(sets, options: request.target.options, pageSize: reading.pageSize, handler.runner)
        let writer = handler.writer
        let body = try await handler.documents.body { snapshot, sink in
            var output = JSONOutput(to: sink)
            writer.begin("Collection(Edm.EntityType)", count: try walk.total(at: snapshot), to: &output)
            let next = try walk.rows(at: snapshot) { rows, shape, source in
                for row in rows where output.goesOn() {
                    writer.write(row, shape, context: "\(source)/$entity", to: &output)
                }
                try output.flush()
            }
            writer.end(reading.next(next), to: &output)
            try output.flush()
        }
        return handler.responses.json(body, headers: reading.applied())
    }

    /// Then sets without a full text have nothing that could be found.
    private var isSearching: Bool {
        request.target.options.contains { if case .search = $0.form { true } else { false } }
    }

    private func sets(_ type: WrittenName?) throws -> [MultiSetPaging.Part] {
        let searched = isSearching ? handler.service.configuration.searched : nil
        let sets = tables.tables.values.filter { table in
            !table.isSingleton && tables.model.container.entitySet(table.source) != nil
                && searched?.contains(table.entity) ?? true
        }.sorted { $0.source < $1.source }
        guard let type else { return sets.map { MultiSetPaging.Part(table: $0, cast: nil) } }
        let name = QualifiedName("\(type)").map(tables.model.resolve)
        guard let name, tables.model.structured(name)?.isEntity == true else {
            throw PorticoError(.recordNotFound, "There is no entity type \(type).", target: "\(type)")
        }
        return sets.compactMap { table in
            if tables.model.type(table.type.name, isA: name) { return MultiSetPaging.Part(table: table, cast: nil) }
            return tables.model.type(name, isA: table.type.name) ? MultiSetPaging.Part(table: table, cast: name) : nil
        }
    }
}

extension ResultWriter {
    func crossJoin(_ row: ResultRow, _ parts: [CrossJoinPart], to output: inout JSONOutput) {
        output.beginObject()
        for part in parts {
            let own = part.row(of: row)
            if part.isExpanded {
                output.key(part.source)
                write(own, part.shape, to: &output)
            } else if format.metadata != .none, let path = RowIdentity(tables: tables).path(own, part.shape) {
                output.member("\(part.source)@odata.navigationLink", path)
            }
        }
        output.endObject()
    }
}

/// Pages through several sets, one after the other.
struct MultiSetPaging: Sendable {
    struct Part: Sendable {
        let table: RecordTable
        let cast: QualifiedName?
    }

    private let parts: [Part]
    private let options: [QueryOption]
    private let pageSize: Int
    private let runner: QueryRunner
    private let begin: Token
    private let skip: Int
    private let counts: Bool

    /// Throws where the `$skiptoken` is none of these pages'.
    init(_ parts: [Part], options: [QueryOption], pageSize: Int, _ runner: QueryRunner) throws {
        var (begin, skip, counts) = (Token(), 0, false)
        for option in options {
            switch option.form {
            case .skip(let digits): skip = Int(digits) ?? .max
            case .top(let digits): begin.remaining = Int(digits) ?? .max
            case .count(let isWanted): counts = isWanted
            default: continue
            }
        }
        for case .skipToken(let text) in options.map(\.form) {
            guard let read = Token(text) else {
                throw PorticoError(.requestInvalid, "The $skiptoken belongs to another query.", target: "$skiptoken")
            }
            (begin, skip) = (read, 0)
        }
        (self.parts, self.options, self.pageSize, self.runner) = (parts, options, pageSize, runner)
        (self.begin, self.skip, self.counts) = (begin, skip, counts)
    }

    /// With `$count=true`: how many entities there are in all.
    func total(at snapshot: any RecordSnapshot) throws -> Int? {
        counts ? try parts.reduce(0) { try $0 + plan($1).count(at: snapshot) } : nil
    }

    /// Gives the page's rows, some at a time, with their shape and their set's name. Returns the `$skiptoken` of the next
    /// page; nil on the last.
    func rows(
        at snapshot: any RecordSnapshot, _ receive: ([ResultRow], ResultShape, _ source: String) throws -> Void
    ) throws -> String? {
        var (token, skip, room) = (begin, skip, pageSize)
        while token.part < parts.count, token.remaining != 0 {
            guard room > 0 else { return token.text }
            let part = parts[token.part]
            if skip > 0 {
                let count = try plan(part).count(at: snapshot)
                if skip >= count {
                    skip -= count
                    token.part += 1
                    continue
                }
            }
            let plan = try plan(part, limit: min(room, token.remaining ?? room), skip: skip, token: token.inner)
            skip = 0
            token.inner = try plan.rows(at: snapshot) { rows in
                room -= rows.count
                token.remaining? -= rows.count
                try receive(rows, plan.shape, part.table.source)
            }
            if token.inner == nil { token.part += 1 }
        }
        return nil
    }

    private func plan(_ part: Part, limit: Int? = nil, skip: Int = 0, token: String? = nil) throws -> QueryPlan {
        var own = options.filter { option in
            switch option.form {
            case .top, .skip, .count, .skipToken: false
            default: true
            }
        }
        let nowhere = SourceRange(0, 0)
        if let token { own.append(QueryOption(.skipToken(token), nameRange: nowhere, range: nowhere)) }
        if skip > 0 { own.append(QueryOption(.skip(String(skip)), nameRange: nowhere, range: nowhere)) }
        return try runner.plan(
            EntityQuery(
                part.table.source, cast: part.cast, options: own, pageSize: limit ?? pageSize, now: runner.now))
    }
}

extension MultiSetPaging {
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
            guard pieces[1].isEmpty || (remaining ?? -1) >= 0 else { return nil }
            inner = pieces[2].isEmpty ? nil : String(pieces[2])
        }

        var text: String { "\(part).\(remaining.map(String.init) ?? "").\(inner ?? "")" }
    }
}
