import AdapterKit
import HTTPTypes
import ValueTree

/// The path of an adapter's live feed.
struct FeedEndpoint: Endpoint {
    let served: ServedAdapter
    let hub: FeedBroadcaster
    let live: LiveBroadcaster
    let credentials: CredentialWatch

    var properties: EndpointProperties {
        EndpointProperties(
            name: "\(served.declaration.name).\(hub.reader.feed.name)", access: served.access, effect: .reads,
            adapter: served.declaration.name, status: served.status)
    }

    var description: EndpointDescription {
        EndpointDescription(
            summary: hub.reader.feed.summary, tag: served.declaration.title,
            parameters: [
                .query("after", .string, "The id of the last event that came; `Last-Event-ID` wins over it."),
                .header("Last-Event-ID", "The id of the last event that came."),
            ],
            answers: [(.ok, .document(mediaType: "text/event-stream"))],
            errors: [
                .rateLimited, .overloaded, .stopping, .requestInvalid, .storeUnavailable, .adapterUnavailable,
            ])
    }

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        guard !request.request.isPartOfBatch else {
            throw PorticoError(.requestInvalid, "A batch cannot contain a stream.")
        }
        // Groups are joined by account names, so nobody without one has any.
        guard !request.caller.principal.isAnonymous else {
            throw PorticoError(.loginRequired, "This needs a login.")
        }
        let ticket = try live.open(
            for: request.caller.principal, following: [], until: request.caller.expires)
        do {
            let watch = try await credentials.watch(request.caller.authentication) { ticket.cut() }
            var response = GatewayResponse(
                .ok, headers: [.contentType: "text/event-stream", .cacheControl: "no-store", .xAccelBuffering: "no"])
            response.stream = FeedStream(
                hub, for: request.caller,
                after: request.request.headers[.lastEventID] ?? request.request.target["after"],
                ticket: ticket, watch: watch, requestID: request.request.id)
            return response
        } catch {
            ticket.close()
            throw error
        }
    }
}
