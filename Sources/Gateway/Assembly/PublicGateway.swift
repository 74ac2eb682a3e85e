import AdapterKit
import HTTPTypes
import Identity
import MirrorEngine
import RecordStorage
import Telemetry
import ValueTree
import WireFormats

extension Gateway {
    /// The public listener's gateway: the adapters' routes and the gateway's own.
    ///
    /// `old`: the gateway whose place this one takes (``GatewayServer/replace(_:_:)``). Throws ``RouteTable/Conflict``
    /// where two adapters claim one path.
    public convenience init(
        adapters: [ServedAdapter], store: any Store, identity: Identity, sync: SyncServices,
        feeds: FeedServices, settings: GatewaySettings, readiness: Readiness, clock: any WallClock, log: Log,
        succeeding old: Gateway? = nil
    ) throws {
        let services = GatewayServices(
            store: store, limits: settings.limits, clock: clock, rights: sync.rights,
            credentials: CredentialWatch(identity: identity, clock: clock), metrics: settings.metrics,
            tracing: RequestTracing(tracer: settings.tracer, slow: settings.slowRequest), succeeding: old?.services)
        let accounts = AccountServices(
            identity: identity, cookie: settings.cookie, services: services, clock: clock,
            origins: settings.origins, signIns: SignInInstruments(settings.metrics))
        let description = DeferredValue<GatewayResponse>()
        let itself = GatewayReference()
        let routes =
            RouteCatalogue(adapters: adapters, services: services).routes()
            + Self.accountRoutes(accounts, portal: settings.portalLogin)
            + SyncRoutes(sync: sync, services: services, identity: identity).routes()
            + feeds.routes(services, identity)
            + Self.providerRoutes(accounts, settings)
            + Self.ownRoutes(adapters, services, settings, readiness, description, itself)
        let files = (PageFile.icons + settings.pages).map { Route(.get, $0.path, PageFileEndpoint($0)) }
        self.init(
            routes: try RouteTable(routes + files),
            authenticator: IdentityAuthenticator(
                identity: identity, cookie: settings.cookie, allowsBasic: settings.allowsBasic),
            csrf: CSRFProtection(identity: identity),
            cors: CrossOrigin(origins: settings.origins, maxAge: settings.preflightMaxAge),
            services: services, errors: ErrorWriter(answers: services.encoder), log: log, succeeding: old)
        // Without the files of pages: they are no operations.
        var openAPI = OpenAPI(catalogue: services.catalogue, version: settings.version)
        description.set(OpenAPIEndpoint.response(try services.catalogue.json.write(openAPI.document(routes))))
        itself.set(self)
        let collector = GatewayCollector(
            adapters: adapters, identity: identity, sync: sync, services: services, readiness: readiness,
            version: settings.version)
        let metrics = settings.metrics
        let collect: @Sendable () -> Void = { metrics.collect(as: "gateway") { collector.collect(into: &$0) } }
        // One that may not be used after all takes no other's place.
        if old == nil { collect() } else { whenCurrent(collect) }
    }

    private static func accountRoutes(_ accounts: AccountServices, portal: PathTemplate?) -> [Route] {
        [
            Route(.get, "/auth/login", SignInPageEndpoint(accounts: accounts)),
            Route(.post, "/auth/login", LoginEndpoint(accounts: accounts)),
            Route(.post, "/auth/refresh", RefreshEndpoint(accounts: accounts)),
            Route(.post, "/auth/logout", LogoutEndpoint(accounts: accounts)),
            Route(.get, "/auth/me", MeEndpoint(accounts: accounts)),
            Route(.post, "/auth/password", PasswordEndpoint(accounts: accounts)),
            Route(.get, "/auth/sessions", SessionListEndpoint(accounts: accounts)),
            Route(.delete, "/auth/sessions/{id}", SessionEndEndpoint(accounts: accounts)),
            Route(.get, "/auth/keys", KeyListEndpoint(accounts: accounts)),
            Route(.post, "/auth/keys", KeyCreationEndpoint(accounts: accounts)),
            Route(.delete, "/auth/keys/{id}", KeyRevocationEndpoint(accounts: accounts)),
            Route(.get, "/auth/jwks.json", KeySetEndpoint(accounts: accounts)),
        ] + (portal.map { [Route(.post, $0, PortalLoginEndpoint(accounts: accounts))] } ?? [])
    }

    /// Only where there is a provider to go to.
    private static func providerRoutes(_ accounts: AccountServices, _ settings: GatewaySettings) -> [Route] {
        guard settings.hasProviderPages ?? !accounts.identity.browserProviders.isEmpty else { return [] }
        return [
            Route(.get, "/auth/oidc/{provider}/login", ProviderLoginEndpoint(accounts: accounts)),
            Route(.get, "/auth/oidc/{provider}/callback", ProviderCallbackEndpoint(accounts: accounts)),
        ]
    }

    private static func ownRoutes(
        _ adapters: [ServedAdapter], _ services: GatewayServices, _ settings: GatewaySettings, _ readiness: Readiness,
        _ description: DeferredValue<GatewayResponse>, _ itself: GatewayReference
    ) -> [Route] {
        [
            Route(.get, "/", FrontPageEndpoint(adapters: adapters, pages: settings.pages, version: settings.version)),
            Route(.get, "/health/live", LiveEndpoint()),
            Route(.get, "/health/ready", ReadyEndpoint(readiness: readiness)),
            Route(.get, "/openapi.json", OpenAPIEndpoint(text: description)),
            Route(.post, "/batch", BatchEndpoint(gateway: itself, services: services)),
        ]
    }
}

/// What the gateway is configured with.
public struct GatewaySettings: Sendable {
    public var limits = GatewayLimits()
    public var cookie = SessionCookieSettings(isSecure: false)
    public var allowsBasic = false
    /// Where the form of SAP's portals is taken; nil: nowhere.
    public var portalLogin: PathTemplate?
    public var origins: Set<String> = []
    /// Whether there are ways to sign in with a page of their own; nil: as ``Identity/browserProviders`` says.
    public var hasProviderPages: Bool?
    /// Seconds.
    public var preflightMaxAge = 600
    public var version = ""
    /// Where everything is counted; what `/metrics` of the admin socket shows.
    public var metrics = MetricRegistry()
    /// Records spans of requests; nil: there are none.
    public var tracer: SpanTracer?
    /// `log.slow`: a request that takes as long has a line with its steps; nil: none has.
    public var slowRequest: Duration?
    public var sync = SyncSettings()
    public var feeds = FeedSettings()
    /// Files for browsers, each at its path.
    public var pages: [PageFile] = []

    public init() {}
}

/// All routes of the public listener: the gateway's own, and those that the adapters' declarations give.
struct RouteCatalogue: Sendable {
    let adapters: [ServedAdapter]
    let services: GatewayServices

    func routes() -> [Route] {
        adapters.flatMap { served in
            resources(of: served) + operations(of: served) + soapServices(of: served) + mounts(of: served)
                + mirrors(of: served)
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

    private func mirrors(of served: ServedAdapter) -> [Route] {
        served.mirrors.map { mirror in
            let path = "/api/v1/\(mirror.id.adapter)/mirrors/\(mirror.id.entity)/refresh"
            return Route(.post, PathTemplate(stringLiteral: path), MirrorRefreshEndpoint(mirror, of: served))
        }
    }

    private func soapServices(of served: ServedAdapter) -> [Route] {
        served.declaration.soapServices.flatMap { service in
            let context = SOAPServiceContext(service, of: served, services: services)
            return service.paths.flatMap { path in
                [
                    Route(.post, path, SOAPEndpoint(context)), Route(.get, path, SOAPDescriptionEndpoint(context)),
                ]
            }
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
