import AdapterKit
import ODataAddresses
import ODataLanguage
import ODataModel
import ODataQueries
import ODataRecords

/// Pages of entities (Protocol 4.01, sections 11.2.6 and 11.2.11).
struct CollectionReading: Sendable {
    private let desk: ResourceDesk
    private var request: ServiceRequest { desk.request }

    init(_ desk: ResourceDesk) {
        self.desk = desk
    }

    func page(_ place: EntitiesPlace) async throws -> DoorAnswer {
        let deltas = DeltaReading(desk)
        if deltas.isAskedForChanges { return try await deltas.changes(place) }
        let query = try await query(place)
        guard deltas.isAskedToTrack else { return answer(try await desk.runner.page(query), place) }
        let (page, mark) = try await desk.runner.followed(query)
        return answer(page, place, token: try mark.map { try deltas.token($0) })
    }

    private func answer(_ page: ResultPage, _ place: EntitiesPlace, token: String? = nil) -> DoorAnswer {
        let context = ContextFragment(options: request.target.options, version: request.format.version)
        let fragment =
            page.shape.table == nil
            ? context.applied(page.shape, place.table.source) : context.collection(place)
        let deltas = DeltaReading(desk)
        let body = desk.writer.collection(
            page, context: fragment, next: next(page.next, token),
            delta: page.next == nil ? token.map { deltas.link($0) } : nil)
        return desk.answers.json(body, headers: applied(tracked: token != nil))
    }

    func references(_ place: EntitiesPlace) async throws -> DoorAnswer {
        let page = try await desk.runner.page(try await query(place))
        return desk.answers.json(desk.writer.references(page, next: next(page.next)), headers: applied())
    }

    /// `/$count`: the number alone.
    func count(_ place: EntitiesPlace) async throws -> DoorAnswer {
        let deltas = DeltaReading(desk)
        if deltas.isAskedForChanges { return try await deltas.count(place) }
        let count = try await desk.runner.count(try await query(place))
        return desk.answers.text(Array(String(count).utf8), type: "text/plain;charset=utf-8")
    }

    func query(_ place: EntitiesPlace) async throws -> EntityQuery {
        EntityQuery(
            place.table.source, cast: place.type.name == place.table.type.name ? nil : place.type.name,
            base: try await desk.runner.base(place), options: request.target.options, pageSize: pageSize,
            now: desk.service.clock.now())
    }

    var pageSize: Int {
        let own = desk.service.configuration.pageSize
        return request.preferences.maximumPageSize.map { min($0, own) } ?? own
    }

    func applied(tracked: Bool = false, by format: ResponseFormat? = nil) -> DoorHeaders {
        request.preferences.applied(format ?? request.format, pageSize: pageSize, tracked: tracked)
    }

    /// The same request with its place in the order, and where changes are tracked the place that they began at.
    func next(_ token: String?, _ delta: String? = nil) -> String? {
        guard let token else { return nil }
        let address = PlainAddress(request.relative)
        let more = delta.map { [DeltaReading(desk).option($0)] } ?? []
        return request.root + address.adding(["$skiptoken=\(token)"] + more)
    }
}

extension ResourceDesk {
    var runner: QueryRunner {
        QueryRunner(tables: tables, records: request.records, now: service.clock.now(), limits: limits.query)
    }
}
