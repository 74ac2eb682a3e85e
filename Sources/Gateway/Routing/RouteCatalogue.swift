import AdapterKit
import HTTPTypes

/// All routes of the public listener: the gateway's own, and those that the adapters' declarations give.
struct RouteCatalogue: Sendable {
    let adapters: [ServedAdapter]
    let services: GatewayServices

    func routes() -> [Route] {
        adapters.flatMap { served in
            resources(of: served) + operations(of: served) + mounts(of: served)
        }
    }

    private func resources(of served: ServedAdapter) -> [Route] {
        served.declaration.entities.filter { $0.exposure == .resource }.flatMap { entity in
            let resource = EntityResource(served: served, entity: entity, services: services)
            let list = PathTemplate(stringLiteral: resource.collectionPath)
            let record = PathTemplate(stringLiteral: resource.collectionPath + "/{id}")
            return [
                Route(.get, list, ListEndpoint(resource: resource)),
                Route(.post, list, CreateEndpoint(resource: resource)),
                Route(.get, record, ReadEndpoint(resource: resource)),
                Route(.patch, record, UpdateEndpoint(resource: resource)),
                Route(.put, record, ReplaceEndpoint(resource: resource)),
                Route(.delete, record, DeleteEndpoint(resource: resource)),
            ]
        }
    }

    /// At the root itself and at whatever is below.
    private func mounts(of served: ServedAdapter) -> [Route] {
        served.declaration.mounts.flatMap { mount in
            let endpoint = MountEndpoint(served: served, mount: mount, services: services)
            let below = PathTemplate(stringLiteral: "\(mount.path)/{rest*}")
            return mount.methods.compactMap { HTTPRequest.Method(rawValue: $0) }.flatMap { method in
                [Route(method, mount.path, endpoint), Route(method, below, endpoint)]
            }
        }
    }

    private func operations(of served: ServedAdapter) -> [Route] {
        served.declaration.operations.filter { $0.audience == .callers }.flatMap { operation in
            bindings(of: operation, served).map { binding in
                let endpoint = OperationEndpoint(
                    served: served, operation: operation, binding: binding, services: services)
                return Route(HTTPRequest.Method(rawValue: binding.method.rawValue) ?? .post, binding.path, endpoint)
            }
        }
    }

    /// One without bindings gets the path that every operation can have.
    private func bindings(of operation: Operation, _ served: ServedAdapter) -> [HTTPBinding] {
        guard operation.bindings.isEmpty else { return operation.bindings }
        let path = "/api/v1/\(served.declaration.name)/operations/\(operation.name)"
        return [HTTPBinding(.post, PathTemplate(stringLiteral: path))]
    }
}
