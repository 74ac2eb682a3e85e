import AdapterKit
import HTTPTypes
import Identity
import NIOCore
import NearestNames
import RecordStorage
import SyncEngine
import SyncMessages
import ValueTree
import WireFormats

/// `GET /sync/v1/live`: a continuous pull as server-sent events; with `wait`, one page as soon as there are changes
/// (long polling).
struct SyncLiveEndpoint: Endpoint {
    let sync: SyncServices
    let services: GatewayServices
    let credentials: CredentialWatch

    let properties = EndpointProperties(name: "sync.live", access: .login, effect: .reads)
    let description = EndpointDescription(
        summary: "A pull that goes on, as server-sent events.", tag: "Sync",
        parameters: [
            .query("checkpoint", .string, "To go on from; `Last-Event-ID` wins over it."),
            .query("collections", .string, "Names, separated by commas."),
            .query("limit", .integer, "Operations in one event at most."),
            .query("format", .string, "The format of the data, JSON otherwise."),
            .query("clientId", .string, "The device, by the id that its pushes have."),
            .query("wait", .integer, "Seconds: one page as a plain answer, as soon as there is news (long polling)."),
            .header("Last-Event-ID", "The id of the last event that came."),
        ],
        answers: [(.ok, .document(mediaType: "text/event-stream"))],
        errors: [.fetchAgain, .rateLimited, .stopping, .requestInvalid, .storeUnavailable])

    private static let parameters = ["checkpoint", "collections", "limit", "format", "clientId", "wait"]

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        let asked = try pull(of: request.request)
        let caller = request.caller.syncing
        if let seconds = request.request.target["wait"] {
            return try await poll(asked, for: caller, seconds, request)
        }
        return try await stream(asked, for: caller, request)
    }

    private func pull(of request: GatewayRequest) throws(PorticoError) -> PullRequest {
        let target = request.target
        // As a message of which nothing is known: to pass all of it over would answer another question than was asked.
        guard target.query.isEmpty || target.query.contains(where: { Self.parameters.contains($0.name) }) else {
            let name = target.query[0].name
            let near = NearestName.sentence(name, among: Self.parameters)
            throw PorticoError(.requestInvalid, "There is no such parameter.\(near)", target: name)
        }
        let limit = try target.number("limit", in: 1...Int.max) ?? sync.settings.livePage
        return PullRequest(
            checkpoint: request.headers[.lastEventID] ?? target["checkpoint"],
            collections: target["collections"].map { $0.split(separator: ",").map(String.init) }, limit: limit,
            clientID: target["clientId"])
    }

    private func source(_ request: GatewayRequest) throws(PorticoError) -> LiveSource {
        let name = request.target["format"] ?? FormatName.json.text
        guard let format = FormatName(name).flatMap({ services.catalogue[$0] }) else {
            let names = services.catalogue.formats.map(\.name.text).joined(separator: ", ")
            throw PorticoError(.notAcceptable, "`format` takes one of \(names).", target: "format")
        }
        return LiveSource(pulls: sync.pulls, store: services.store, format: format, requestID: request.id)
    }

    private func ticket(
        _ asked: PullRequest, for caller: SyncCaller, _ request: AuthenticatedRequest
    ) throws(PorticoError) -> LiveTicket {
        try sync.live.open(
            for: caller.principal, following: adapters(asked),
            interest: SyncInterest(asked.collections, in: sync.catalogue, for: caller),
            until: request.caller.expires)
    }

    private func adapters(_ asked: PullRequest) -> Set<AdapterName> {
        let all = sync.catalogue.collections
        let wanted = asked.collections.map { names in all.filter { names.contains($0.name) } } ?? all
        return Set(wanted.map(\.id.adapter))
    }

    /// A checkpoint that cannot be continued from is refused before the stream begins: as an answer it has a status.
    private func stream(
        _ asked: PullRequest, for caller: SyncCaller, _ request: AuthenticatedRequest
    ) async throws -> GatewayResponse {
        guard !request.request.isPartOfBatch else {
            throw PorticoError(.requestInvalid, "A batch cannot contain a stream.")
        }
        let source = try source(request.request)
        let ticket = try ticket(asked, for: caller, request)
        do {
            let (pulls, store) = (sync.pulls, services.store)
            try await store.withReadSnapshot { try pulls.check(asked, for: caller, at: $0) }
            let watch = try await credentials.watch(request.caller.authentication) { ticket.cut() }
            var response = GatewayResponse(
                .ok, headers: [.contentType: "text/event-stream", .cacheControl: "no-store", .xAccelBuffering: "no"])
            let sight = StreamSight(sync.seen, asked.clientID, of: caller.principal)
            response.stream = LiveStream(
                asked, for: caller, source: source, ticket: ticket, watch: watch, sight: sight)
            return response
        } catch {
            ticket.close()
            throw error
        }
    }

    private func poll(
        _ asked: PullRequest, for caller: SyncCaller, _ seconds: String, _ request: AuthenticatedRequest
    ) async throws -> GatewayResponse {
        guard let number = Int(seconds), number >= 0 else {
            throw PorticoError(.requestInvalid, "`wait` is a number of seconds.", target: "wait")
        }
        let source = LiveSource(
            pulls: sync.pulls, store: services.store, format: services.catalogue.json, requestID: request.request.id)
        let ticket = try ticket(asked, for: caller, request)
        defer { ticket.close() }
        let watch = try await credentials.watch(request.caller.authentication) { ticket.cut() }
        defer { watch.end() }
        let longest = min(.seconds(number), sync.settings.longestPoll, request.request.idleTimeout)
        let page = try await LongPoll(source: source, caller: caller, ticket: ticket, watch: watch)
            .page(asked, within: longest)
        sync.seen.notePull(page, for: asked, of: caller.principal)
        return try services.encoder.write(
            page.wireValue, to: request.request, presentation: Presentation(), validators: nil)
    }
}

/// One page, as soon as it says anything.
struct LongPoll: Sendable {
    let source: LiveSource
    let caller: SyncCaller
    let ticket: LiveTicket
    let watch: CredentialWatch.Hold

    func page(_ asked: PullRequest, within time: Duration) async throws -> PullPage {
        let end = ContinuousClock.now + time
        var request = asked
        while true {
            guard !watch.isExpired else { throw Self.ended }
            let (page, position) = try await source.page(request, for: caller)
            let left = end - .now
            if page.hasChanges || left <= .zero { return page }
            request.checkpoint = page.token
            switch await ticket.wait(seen: position, for: left) {
            case .changed, .silence: continue
            case .stopping: throw PorticoError(.stopping, "The server is stopping.", retryAfter: 1)
            case .cut: throw Self.ended
            }
        }
    }

    private static let ended = PorticoError(.credentialsInvalid, "The credential is not valid any more.")
}

extension GatewayRequest {
    /// The time for which an answer may be held back: a little less than the request's deadline.
    fileprivate var idleTimeout: Duration { max(.zero, deadline - .now - .seconds(2)) }
}

extension HTTPField.Name {
    static let lastEventID = HTTPField.Name("Last-Event-ID")!
    static let xAccelBuffering = HTTPField.Name("X-Accel-Buffering")!
}
