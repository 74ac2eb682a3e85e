import AdapterKit
import HTTPTypes
import Identity

/// Where devices sync.
struct SyncRoutes: Sendable {
    let sync: SyncServices
    let services: GatewayServices
    let identity: Identity

    func routes() -> [Route] {
        let watch = CredentialWatch(identity: identity, clock: services.clock)
        return [
            Route(.post, "/sync/v1/pull", PullEndpoint(sync: sync, services: services)),
            Route(.post, "/sync/v1/push", PushEndpoint(sync: sync, services: services)),
            Route(.get, "/sync/v1/live", SyncLiveEndpoint(sync: sync, services: services, credentials: watch)),
            Route(.get, "/sync/v1/attachments/{sha256}", AttachmentReadEndpoint(sync: sync, services: services)),
            Route(.put, "/sync/v1/attachments/{sha256}", AttachmentWriteEndpoint(sync: sync, services: services)),
        ]
    }
}
