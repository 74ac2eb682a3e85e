import AdapterKit
import HTTPTypes
import MirrorEngine
import RecordStorage
import ValueTree

/// `porticoctl writes list`, `show`, `retry` and `drop`.
struct WriteRoutes: Sendable {
    /// Writes of one list; the oldest come first.
    private static let mostListed = 1_000

    let adapters: [ServedAdapter]
    let services: GatewayServices

    func routes() -> [Route] {
        [
            Route(
                .get, "/admin/v1/writes",
                AdministrationEndpoint(
                    "writes.list", .read,
                    "Changes that other systems have not taken, the oldest first: all, or of an author, record or mirror.",
                    query: ["author", "record", "mirror"], services: services
                ) { request, _ in try await list(request.request.target) }),
            Route(
                .get, "/admin/v1/writes/{id}",
                AdministrationEndpoint("writes.show", .read, "One pending write.", services: services) { request, _ in
                    try await show(id(request))
                }),
            Route(
                .post, "/admin/v1/writes/{id}/retry",
                AdministrationEndpoint("writes.retry", .change, "Sends a write again.", services: services) {
                    request, _ in
                    let id = try id(request)
                    try await writes(of: id).retry(id)
                    return try await show(id)
                }),
            Route(
                .post, "/admin/v1/writes/{id}/drop",
                AdministrationEndpoint(
                    "writes.drop", .destroy, "Removes a write. Its record becomes what the other system has.",
                    services: services
                ) { request, _ in
                    let id = try id(request)
                    try await writes(of: id).drop(id)
                    return nil
                }),
        ]
    }

    private func list(_ target: RequestTarget) async throws -> WireValue {
        let selection = WriteSelection(
            author: target["author"], record: target["record"], mirror: target["mirror"])
        let writes = try await services.store.withReadSnapshot {
            try $0.listOfWrites(selection, limit: Self.mostListed)
        }
        return ["writes": .array(writes.map { .dictionary($0) })]
    }

    private func show(_ id: RecordID) async throws -> WireValue {
        let found = try await services.store.withReadSnapshot { try $0.descriptionOfWrite(id) }
        guard let found else { throw Self.unknown }
        return .dictionary(found)
    }

    private func id(_ request: AuthenticatedRequest) throws(PorticoError) -> RecordID {
        guard let id = RecordID(request["id"]) else { throw Self.unknown }
        return id
    }

    private func writes(of id: RecordID) async throws -> MirrorWrites {
        let found = try await services.store.withReadSnapshot { try $0.pendingWrite(id) }
        guard let found else { throw Self.unknown }
        guard let writes = adapters.lazy.flatMap(\.writes).first(where: { $0.id == found.collection }) else {
            throw PorticoError(.adapterUnavailable, "The mirror \(found.collection) is not configured to be written.")
        }
        return writes
    }

    private static let unknown = PorticoError(.recordNotFound, "There is no write of this id.")
}
