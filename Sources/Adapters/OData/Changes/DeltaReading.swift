import AdapterKit
import ODataAddresses
import ODataLanguage
import ODataQueries
import ODataRecords

/// Changes of collections: `track-changes`, and what delta links lead to (Protocol 4.01, sections 8.2.8.6 and 11.3).
struct DeltaReading: Sendable {
    private let handler: ResourceHandler
    private var request: ServiceRequest { handler.request }
    private var address: PlainAddress { request.address }

    init(_ handler: ResourceHandler) {
        self.handler = handler
    }

    /// A page of the collection itself is being read, whose changes are to be followed.
    var isAskedToTrack: Bool { request.preferences.tracksChanges || deltaToken != nil }

    var isAskedForChanges: Bool { deltaToken != nil && !isOnePage }

    /// Of the first page: what changed while the others were read is told once more.
    func token(_ mark: ChangeCursor) throws -> String {
        guard let deltaToken else { return DeltaToken(mark, of: address).text }
        return try read(deltaToken).text
    }

    func link(_ token: String) -> String { request.root + address.adding([option(token)]) }

    /// SAP's name for it in version 2.
    func option(_ token: String) -> String { "\(request.language == .v2 ? "!" : "$")deltatoken=\(token)" }

    func changes(_ place: EntityCollectionPath) async throws -> MountResponse {
        let answer = try await page(place, isCounted: request.target.options.contains(where: \.isCount))
        let context = ContextFragment(options: request.target.options, version: request.format.version)
        // What is left out of a delta is as it was.
        var format = request.format
        format.omitted = nil
        let writer = ResultWriter(tables: handler.tables, format: format, root: request.root)
        let body = try DeltaWriter(writer, most: handler.limits.heldBytes).document(
            answer.page, count: answer.count, context: "\(context.collection(place))/$delta",
            link: link(answer.token))
        return Answers(format: format).json(
            body, headers: CollectionReading(handler).applied(tracked: true, by: format))
    }

    /// `/$count`: how many changes there are.
    func count(_ place: EntityCollectionPath) async throws -> MountResponse {
        let tracked = try await tracked(place)
        let (token, limit) = (try read(deltaToken ?? ""), CollectionReading(handler).pageSize)
        let records = request.records
        let count = try await telling {
            try await records.withReadSnapshot { try tracked.count(since: token.mark, limit: limit, at: $0) }
        }
        return handler.answers.text(Array(String(count).utf8), type: "text/plain;charset=utf-8")
    }

    struct Answer {
        let page: ChangesPage
        let count: Int?
        /// To go on from.
        let token: String
    }

    /// What has changed since the request's token. `isWhole`: without changes within rows.
    func page(_ place: EntityCollectionPath, isCounted: Bool, isWhole: Bool = false) async throws -> Answer {
        let tracked = try await tracked(place)
        let (token, limit) = (try read(deltaToken ?? ""), CollectionReading(handler).pageSize)
        let records = request.records
        let (page, count) = try await telling {
            try await records.withReadSnapshot { snapshot in
                (
                    try tracked.changes(since: token.mark, limit: limit, isWhole: isWhole, at: snapshot),
                    isCounted ? try tracked.count(since: token.mark, limit: limit, at: snapshot) : nil
                )
            }
        }
        return Answer(page: page, count: count, token: DeltaToken(page.mark, of: address).text)
    }

    private func tracked(_ place: EntityCollectionPath) async throws -> TrackedQuery {
        guard let tracked = try handler.runner.tracked(try await CollectionReading(handler).query(place)) else {
            throw PorticoError(.requestInvalid, "Changes of this query cannot be followed.", target: "$deltatoken")
        }
        return tracked
    }

    private func read(_ text: String) throws(PorticoError) -> DeltaToken {
        guard let token = DeltaToken(text) else {
            throw PorticoError(.requestInvalid, "This is no delta token.", target: "$deltatoken")
        }
        guard token.isOf(address) else {
            throw PorticoError(.requestInvalid, "The delta token belongs to another query.", target: "$deltatoken")
        }
        return token
    }

    /// 410 names where to begin again (section 11.3).
    private func telling<Result: Sendable>(_ body: () async throws -> Result) async throws -> Result {
        do {
            return try await body()
        } catch let error as PorticoError where error.code == .fetchAgain {
            throw ODataError(error, status: 410, headers: ["Location": request.root + address.text])
        }
    }

    private var deltaToken: String? {
        for option in request.target.options {
            if case .deltaToken(let text) = option.form { return text }
        }
        return nil
    }

    private var isOnePage: Bool {
        request.target.options.contains { if case .skipToken = $0.form { true } else { false } }
    }
}

extension QueryOption {
    var isCount: Bool {
        if case .count(let isWanted) = form { isWanted } else { false }
    }
}
