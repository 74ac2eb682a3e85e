import AdapterKit
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
        let page = try await desk.runner.page(try await query(place))
        let context = ContextFragment(options: request.target.options, version: request.format.version)
        let fragment =
            page.shape.table == nil
            ? context.applied(page.shape, place.table.source) : context.collection(place)
        let body = desk.writer.collection(page, context: fragment, next: next(page.next))
        return desk.answers.json(body, headers: applied)
    }

    func references(_ place: EntitiesPlace) async throws -> DoorAnswer {
        let page = try await desk.runner.page(try await query(place))
        return desk.answers.json(desk.writer.references(page, next: next(page.next)), headers: applied)
    }

    /// `/$count`: the number alone.
    func count(_ place: EntitiesPlace) async throws -> DoorAnswer {
        let count = try await desk.runner.count(try await query(place))
        return desk.answers.text(Array(String(count).utf8), type: "text/plain;charset=utf-8")
    }

    func query(_ place: EntitiesPlace) async throws -> EntityQuery {
        EntityQuery(
            place.table.source, cast: place.type.name == place.table.type.name ? nil : place.type.name,
            base: try await desk.runner.base(place), options: request.target.options, pageSize: pageSize,
            now: desk.service.clock.now())
    }

    private var pageSize: Int {
        let own = desk.service.configuration.pageSize
        return request.preferences.maximumPageSize.map { min($0, own) } ?? own
    }

    private var applied: DoorHeaders {
        request.preferences.maximumPageSize == nil
            ? [:] : ["Preference-Applied": "maxpagesize=\(pageSize)"]
    }

    /// The same request with its place in the order.
    func next(_ token: String?) -> String? {
        guard let token else { return nil }
        let parts = request.relative.split(separator: "?", maxSplits: 1).map(String.init)
        let kept = (parts.count > 1 ? parts[1] : "").split(separator: "&").filter { piece in
            let name = piece.prefix { $0 != "=" }.lowercased()
            return name != "$skiptoken" && name != "%24skiptoken" && name != "skiptoken"
        }
        let query = (kept.map(String.init) + ["$skiptoken=\(token)"]).joined(separator: "&")
        return "\(request.root)\(parts.first ?? "")?\(query)"
    }
}

extension ResourceDesk {
    var runner: QueryRunner { QueryRunner(tables: tables, records: request.records, now: service.clock.now()) }
}
