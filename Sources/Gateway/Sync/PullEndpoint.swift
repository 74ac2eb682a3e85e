import AdapterKit
import HTTPTypes
import RecordStorage
import SyncEngine
import SyncMessages
import ValueTree

/// `POST /sync/v1/pull`: what a device lacks. Reads, though it is a POST: the checkpoint is no query for an address.
struct PullEndpoint: Endpoint {
    let sync: SyncServices
    let services: GatewayServices

    let properties = EndpointProperties(name: "sync.pull", access: .login, effect: .reads)
    let description = EndpointDescription(
        summary: "What a device lacks, page by page.", tag: "Sync", body: SyncShapes.pull, needsBody: false,
        answers: [(.ok, .value(.object(SyncShapes.page)))], errors: [.fetchAgain, .storeUnavailable])

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        let body = try await services.bodies.message(request, as: SyncShapes.pull)
        let asked = try readMessage { () throws(MessageError) in try PullRequest(from: body.value) }
        let pulls = sync.pulls
        let caller = request.caller.syncing
        let page = try await services.store.withReadSnapshot { try pulls.page(asked, for: caller, at: $0) }
        return try services.answers.write(
            page.wireValue, to: request.request, presentation: Presentation(), validators: nil)
    }
}
