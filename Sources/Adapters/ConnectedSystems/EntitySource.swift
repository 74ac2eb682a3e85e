import AdapterKit

/// The rows of one connected entity: asks the other system page by page, for one record, and for one change.
struct ConnectedEntitySource: Sendable {
    let connected: ConnectedEntity
    let request: RequestTemplate
    let upstream: any Upstream
    let headers: [(name: String, value: String)]
    let clock: any WallClock
    /// ``Connection/revision``.
    let revision: String

    var mapping: RowMapping { connected.rows }

    // Pages

    func page(_ asked: MirrorRequest) async throws -> MirrorPage {
        let position = asked.page.flatMap { PagePosition($0) } ?? PagePosition()
        let since = try cursor(asked)
        let fetched = try await fetch(position, since)
        let found = fetched.rows
        var next = fetched.next
        let newest = connected.changes.map { $0.newest(position.newest, since?.newest ?? "", found.rows) } ?? ""
        next?.newest = newest
        var page = MirrorPage(found.rows, removed: found.removed, next: next?.text, age: fetched.age)
        if next == nil, connected.changes != nil, !newest.isEmpty {
            page.cursor = SourceCursor(full: since?.full ?? clock.now(), revision: revision, newest: newest).text
        }
        return page
    }

    struct Fetched {
        let document: WireValue
        let rows: RowMapping.Rows
        let next: PagePosition?
        /// Whether the field `Link` names a next page.
        let hasNextLink: Bool
        /// The age of the answer when it came.
        let age: Duration
    }

    /// One page as the system has it.
    func fetch(_ position: PagePosition, _ since: SourceCursor?) async throws -> Fetched {
        try read(try await upstream.send(try pageRequest(position, since)), position)
    }

    func read(_ response: UpstreamResponse, _ position: PagePosition) throws -> Fetched {
        if !position.place.isEmpty, connected.paging.endStatuses.contains(response.status) {
            return Fetched(
                document: .null, rows: RowMapping.Rows(), next: nil, hasNextLink: false, age: response.age)
        }
        let document = try self.document(response)
        let found = try mapping.rows(document)
        let answer = Paging.Answer(
            document: document, isXML: mapping.format == .xml, rowCount: Int64(found.count), lastRow: found.lastRow,
            fingerprint: found.fingerprint, linkField: response.fields.values("Link"), address: response.address)
        return Fetched(
            document: document, rows: found,
            next: try connected.paging.next(after: position, answer, of: upstream.name),
            hasNextLink: (try? LinkField.target(of: "next", in: answer.linkField)) != nil, age: response.age)
    }

    /// Throws `sync.fetchAgain` where it is time for every row.
    private func cursor(_ asked: MirrorRequest) throws -> SourceCursor? {
        guard let text = asked.since, let changes = connected.changes else { return nil }
        guard let cursor = SourceCursor(text), cursor.revision == revision,
            asked.page != nil || !cursor.isDue(changes.full, at: clock.now())
        else {
            throw PorticoError(.fetchAgain, "Every row is fetched again.")
        }
        return cursor
    }

    func pageRequest(_ position: PagePosition, _ since: SourceCursor?) throws -> UpstreamRequest {
        if case .link = connected.paging.kind, !position.place.isEmpty {
            // Of the same server, as the page before said it.
            guard let address = UpstreamAddress(position.place), address.origin == upstream.url.origin else {
                throw MirrorRefusal(.unexpected, "the next page is at another server")
            }
            return withFields(UpstreamRequest(.get, address))
        }
        var more = connected.paging.query(at: position)
        if let since, let changes = connected.changes {
            let values = TemplateValues(
                values: [changes.field.name.text: changes.value(of: since.newest)], mappings: [changes.field])
            // A further page's own member takes the place of one with its name: no server reads both.
            let paged = Set(more.map(\.name))
            more += try changes.query.filter { !paged.contains($0.name) }
                .map { (name: $0.name, value: try values.render($0.value)) }
        }
        return withFields(
            try request.request(of: upstream, TemplateValues(values: [:], mappings: []), more: more))
    }

    private func withFields(_ request: UpstreamRequest) -> UpstreamRequest {
        request.accepting(mapping.format, headers)
    }

    private func document(_ response: UpstreamResponse) throws -> WireValue {
        try response.document(mapping, of: upstream.name)
    }

    // One record

    func record(_ id: RecordID) async throws -> MirrorRecord {
        guard let template = connected.record else { return .unavailable }
        return try await current(id, template).map { .found($0.row) } ?? .absent
    }

    /// The record as the system has it now; nil: there is none.
    func current(_ id: RecordID, _ template: RequestTemplate) async throws -> CurrentRecord? {
        let values = TemplateValues(values: key(id), mappings: mapping.fields)
        let response = try await upstream.send(withFields(try template.request(of: upstream, values)))
        if response.status == 404 || response.status == 410 { return nil }
        guard let item = try item(try document(response), template) else {
            throw MirrorRefusal(.unexpected, "the answer has no record")
        }
        return CurrentRecord(
            item: item, row: try mapping.row(item), tag: response.fields["ETag"], place: template.item)
    }

    func key(_ id: RecordID) -> WireDictionary {
        let key = connected.entity.key.field
        let isInteger = mapping.fields.contains { $0.name == key && $0.type == .integer }
        return [key.text: isInteger ? Int64(id.text).map { .int64($0) } ?? .null : .string(id.text)]
    }

    /// The record in an answer; nil: there is none.
    func item(_ document: WireValue, _ template: RequestTemplate) throws -> WireValue? {
        try mapping.checkSuccess(document)
        guard let item = template.item.value(in: document, isXML: mapping.format == .xml), item.dictionaryValue != nil
        else { return nil }
        return item
    }
}

extension UpstreamRequest {
    func accepting(_ format: DocumentFormat, _ headers: [(name: String, value: String)]) -> UpstreamRequest {
        var request = self
        request.fields["Accept"] = format.accept
        // A change is sent where it was addressed to, and nowhere else.
        if request.method == .get { request.redirects = .followed }
        for header in headers { request.fields[header.name] = header.value }
        // The other formats say their encoding themselves.
        request.convertsToUTF8 = format == .json || format == .csv
        return request
    }
}

extension UpstreamResponse {
    /// The document of an answer that is a success and has a media type of the mapping. Throws as
    /// ``UpstreamResponse/document(_:of:)``.
    func document(_ mapping: RowMapping, of upstream: UpstreamName) throws -> WireValue {
        let type = fields["Content-Type"] ?? ""
        let taken: Set = mapping.takes(type) ? [type.mediaTypeName] : []
        return try mapping.read(try document(taken, of: upstream, quoting: errorText))
    }
}

extension ConnectedChangeTracking {
    /// The larger of what is known and the rows' values, as a text that ``value(of:)`` reads.
    func newest(_ known: String, _ since: String, _ rows: [WireDictionary]) -> String {
        var newest = isOrdered(known, since) ? since : known
        for row in rows {
            guard let value = row[field.name.text], let text = text(of: value) else { continue }
            if isOrdered(newest, text) { newest = text }
        }
        return newest
    }

    private func isOrdered(_ left: String, _ right: String) -> Bool {
        if left.isEmpty || right.isEmpty { return left.isEmpty }
        switch field.type {
        case .integer: return (Int64(left) ?? .min) < (Int64(right) ?? .min)
        case .date:
            guard let left = WireDate(rfc3339: left), let right = WireDate(rfc3339: right) else { return false }
            return left < right
        default: return left.utf8.lexicographicallyPrecedes(right.utf8)
        }
    }

    private func text(of value: WireValue) -> String? {
        switch (field.type, value) {
        case (.integer, .int64(let number)): return String(number)
        case (.date, .date(let instant)): return instant.rfc3339
        case (.string, .string(let text)):
            return text.utf8.count <= 1_024 && text.utf8.allSatisfy({ $0 >= 0x20 }) ? text : nil
        default: return nil
        }
    }

    func value(of text: String) -> WireValue {
        switch field.type {
        case .integer: Int64(text).map { .int64($0) } ?? .null
        case .date: WireDate(rfc3339: text).map { .date($0) } ?? .null
        default: .string(text)
        }
    }
}

/// Since what changes are asked for, when every row was fetched last, and by which state of the connection file.
struct SourceCursor: Sendable, Equatable {
    let full: WireDate
    let revision: String
    let newest: String

    init(full: WireDate, revision: String, newest: String) {
        self.full = full
        self.revision = revision
        self.newest = newest
    }

    /// Nil for a text that ``text`` did not make.
    init?(_ text: String) {
        let parts = text.split(separator: " ", maxSplits: 2)
        guard parts.count == 3, let full = WireDate(rfc3339: String(parts[0])) else { return nil }
        self.init(full: full, revision: String(parts[1]), newest: String(parts[2]))
    }

    var text: String { "\(full.rfc3339 ?? "2001-01-01T00:00:00Z") \(revision) \(newest)" }

    func isDue(_ period: Duration, at now: WireDate) -> Bool {
        let age = now.secondsSinceReferenceDate - full.secondsSinceReferenceDate
        // A clock that was set back makes it due as well.
        return age < 0 || age >= period / .seconds(1)
    }
}
