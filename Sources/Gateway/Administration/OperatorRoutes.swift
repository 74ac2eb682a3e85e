import AdapterKit
import HTTPTypes

/// The adapters' own operations for operators, and the loading of files.
struct OperatorRoutes: Sendable {
    let adapters: [ServedAdapter]
    let services: GatewayServices

    func routes() -> [Route] {
        adapters.flatMap { served in
            served.declaration.operations.filter { $0.audience == .operators }.map { route($0, served) }
        }
    }

    private func route(_ operation: Operation, _ served: ServedAdapter) -> Route {
        let base = "/admin/v1/adapters/\(served.declaration.name)"
        if operation.name == ImportEndpoint.operation {
            let endpoint = ImportEndpoint(served: served, operation: operation, services: services)
            return Route(.post, PathTemplate(stringLiteral: "\(base)/import"), endpoint)
        }
        let path = PathTemplate(stringLiteral: "\(base)/operations/\(operation.name)")
        let endpoint = OperationEndpoint(
            served: served, operation: operation, binding: HTTPBinding(.post, path), services: services)
        return Route(.post, path, endpoint)
    }
}
