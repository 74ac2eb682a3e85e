import AdapterKit
import HTTPTypes

/// An endpoint that an adapter's declaration gives the public listener, and its place.
struct DeclaredEndpoint: Sendable {
    enum Kind: Sendable {
        case record(RecordAction, Entity)
        case operation(Operation, HTTPBinding)
        case soapService(SOAPService)
        case soapDescription(SOAPService)
        case mount(HTTPMount)
        case liveFeed(LiveFeed)
        case mirrorRefresh(EntityName)
    }

    enum RecordAction: Sendable {
        case list, create, read, update, replace, delete
    }

    let method: HTTPRequest.Method
    let path: PathTemplate
    let kind: Kind

    fileprivate init(_ method: HTTPRequest.Method, _ path: PathTemplate, _ kind: Kind) {
        (self.method, self.path, self.kind) = (method, path, kind)
    }
}

extension AdapterDeclaration {
    /// In the order of what is declared.
    var endpoints: [DeclaredEndpoint] {
        recordEndpoints + operationEndpoints + soapEndpoints + mountEndpoints + refreshEndpoints
            + liveFeeds.map { DeclaredEndpoint(.get, $0.path, .liveFeed($0)) }
    }

    private var recordEndpoints: [DeclaredEndpoint] {
        entities.filter { $0.exposure == .resource }.flatMap { entity in
            let list = path("\(entity.name)")
            let record = path("\(entity.name)/{id}")
            return [
                DeclaredEndpoint(.get, list, .record(.list, entity)),
                DeclaredEndpoint(.post, list, .record(.create, entity)),
                DeclaredEndpoint(.get, record, .record(.read, entity)),
                DeclaredEndpoint(.patch, record, .record(.update, entity)),
                DeclaredEndpoint(.put, record, .record(.replace, entity)),
                DeclaredEndpoint(.delete, record, .record(.delete, entity)),
            ].filter { isTaken($0, of: entity) }
        }
    }

    /// Whether the system that the entity mirrors takes such a change; one that takes none is said to be a mirror.
    private func isTaken(_ endpoint: DeclaredEndpoint, of entity: Entity) -> Bool {
        guard let mirror = mirror(of: entity.name), mirror.writing != .none, case .record(let action, _) = endpoint.kind
        else { return true }
        return switch action {
        case .list, .read: true
        case .create: mirror.changes.contains(.create)
        case .update: mirror.changes.contains(.update)
        case .replace: mirror.changes.contains(.replace)
        case .delete: mirror.changes.contains(.delete)
        }
    }

    private var operationEndpoints: [DeclaredEndpoint] {
        operations.filter { $0.audience == .callers }.flatMap { operation in
            // One without bindings gets the path that every operation can have.
            let bindings =
                operation.bindings.isEmpty
                ? [HTTPBinding(.post, path("operations/\(operation.name)"))] : operation.bindings
            return bindings.map { binding in
                DeclaredEndpoint(
                    HTTPRequest.Method(rawValue: binding.method.rawValue) ?? .post, binding.path,
                    .operation(operation, binding))
            }
        }
    }

    private var soapEndpoints: [DeclaredEndpoint] {
        soapServices.flatMap { service in
            service.paths.flatMap { path in
                [
                    DeclaredEndpoint(.post, path, .soapService(service)),
                    DeclaredEndpoint(.get, path, .soapDescription(service)),
                ]
            }
        }
    }

    /// At the root itself and at whatever is below.
    private var mountEndpoints: [DeclaredEndpoint] {
        mounts.flatMap { mount in
            let below = PathTemplate(stringLiteral: "\(mount.path)/{rest*}")
            return mount.methods.compactMap { HTTPRequest.Method(rawValue: $0) }.flatMap { method in
                [
                    DeclaredEndpoint(method, mount.path, .mount(mount)),
                    DeclaredEndpoint(method, below, .mount(mount)),
                ]
            }
        }
    }

    private var refreshEndpoints: [DeclaredEndpoint] {
        mirrors.map { mirror in
            DeclaredEndpoint(.post, path("mirrors/\(mirror.entity)/refresh"), .mirrorRefresh(mirror.entity))
        }
    }

    private func path(_ rest: String) -> PathTemplate { PathTemplate(stringLiteral: "/api/v1/\(name)/\(rest)") }
}

/// Which paths are taken, known before anything is served.
public struct PathClaims: Sendable {
    private struct Place: Hashable {
        let method: HTTPRequest.Method
        /// Without the names of parameters, which tell no two paths apart.
        let parts: [PathTemplate.Part]

        init(_ method: HTTPRequest.Method, _ path: PathTemplate) {
            self.method = method
            parts = path.parts.map { part in
                switch part {
                case .literal: part
                case .parameter: .parameter("any")
                case .remainder: .remainder("any")
                }
            }
        }
    }

    private var claimants: [Place: String] = [:]

    /// The gateway's own paths that depend on its settings.
    public init(of settings: GatewaySettings) {
        for file in PageFile.base + settings.pages { claimants[Place(.get, file.path)] = "the gateway's pages" }
        for route in ErrorCodePages.routes { claimants[Place(.get, route.path)] = "the gateway's pages" }
        if let portal = settings.portalLogin { claimants[Place(.post, portal)] = "the gateway's sign-in" }
    }

    /// Takes all paths of a declaration, or none: then a sentence says which is taken already, and by whom.
    public mutating func take(_ declaration: AdapterDeclaration) -> String? {
        var next = claimants
        for endpoint in declaration.endpoints {
            guard let claimant = next.updateValue(declaration.claimant, forKey: Place(endpoint.method, endpoint.path))
            else { continue }
            return "Two endpoints claim \(endpoint.method.rawValue) \(endpoint.path): one of \(claimant) and one of "
                + "\(declaration.claimant)."
        }
        claimants = next
        return nil
    }

    /// The declaration without the operations, services, mounts and live feeds that have a path which is taken; nil where the path of
    /// one of its entities or mirrors is.
    public func untaken(of declaration: AdapterDeclaration) -> AdapterDeclaration? {
        let taken = declaration.endpoints.filter { claimants[Place($0.method, $0.path)] != nil }.map(\.kind)
        var (operations, services, mounts, feeds) = (
            declaration.operations, declaration.soapServices, declaration.mounts, declaration.liveFeeds
        )
        for kind in taken {
            switch kind {
            case .record, .mirrorRefresh: return nil
            case .operation(let operation, _): operations.removeAll { $0.name == operation.name }
            case .soapService(let service), .soapDescription(let service): services.removeAll { $0 == service }
            case .mount(let mount): mounts.removeAll { $0.name == mount.name }
            case .liveFeed(let feed): feeds.removeAll { $0.name == feed.name }
            }
        }
        let left = Set(operations.map(\.name))
        services.removeAll { !left.isSuperset(of: $0.operations) }
        return AdapterDeclaration(
            name: declaration.name, title: declaration.title, summary: declaration.summary,
            version: declaration.version, access: declaration.access, entities: declaration.entities,
            operations: operations, mounts: mounts, liveFeeds: feeds, mirrors: declaration.mirrors,
            rules: declaration.rules, soapServices: services)
    }
}

extension AdapterDeclaration {
    fileprivate var claimant: String { "the adapter \(name)" }
}
