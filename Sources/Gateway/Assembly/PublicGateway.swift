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
        liveFeeds: LiveFeedServices, settings: GatewaySettings, readiness: Readiness, clock: any WallClock, log: Log,
        succeeding old: Gateway? = nil
    ) throws {
        let services = GatewayServices(
            store: store, limits: settings.limits, clock: clock, rights: sync.rights,
            credentials: CredentialWatch(identity: identity, clock: clock), changes: ChangeAudit(identity, log: log),
            metrics: settings.metrics,
            tracing: RequestTracing(tracer: settings.tracer, slow: settings.slowRequest), succeeding: old?.services)
        let accounts = AccountServices(
            identity: identity, cookie: settings.cookie, services: services, clock: clock,
            origins: settings.origins, signIns: SignInInstruments(settings.metrics),
            adapters: adapters.map(\.declaration.name).sorted())
        let description = DeferredValue<OpenAPIDocuments>()
        let itself = GatewayReference()
        let routes =
            RouteCatalogue(adapters: adapters, services: services).routes()
            + Self.accountRoutes(accounts, portal: settings.portalLogin)
            + SyncRoutes(sync: sync, services: services, identity: identity).routes()
            + liveFeeds.routes(services, identity)
            + Self.providerRoutes(accounts, settings)
            + Self.ownRoutes(adapters, services, settings, readiness, description, itself)
        let files =
            (PageFile.base + settings.pages).map { Route(.get, $0.path, PageFileEndpoint($0)) } + ErrorCodePages.routes
        self.init(
            routes: try RouteTable(routes + files),
            authenticator: IdentityAuthenticator(
                identity: identity, cookie: settings.cookie, allowsBasic: settings.allowsBasic),
            csrf: CSRFProtection(identity: identity),
            cors: CrossOrigin(origins: settings.origins, maxAge: settings.preflightMaxAge),
            services: services, errors: ErrorWriter(answers: services.encoder), log: log,
            explainsErrors: true, description: description, succeeding: old)
        // Without the files of pages: they are no operations.
        description.set(
            try OpenAPIDocuments(
                routes, catalogue: services.catalogue,
                about: ServiceDescription(of: adapters, version: settings.version, publicURL: settings.publicURL)
            ))
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
        _ description: DeferredValue<OpenAPIDocuments>, _ itself: GatewayReference
    ) -> [Route] {
        [
            Route(
                .get, "/",
                FrontPageEndpoint(
                    services: services, adapters: adapters, pages: settings.pages, version: settings.version,
                    publicURL: settings.publicURL,
                    allowsBasic: settings.allowsBasic)),
            Route(.get, "/health/live", LiveEndpoint()),
            Route(.get, "/health/ready", ReadyEndpoint(readiness: readiness)),
            Route(.get, "/openapi.json", OpenAPIEndpoint(documents: description)),
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
    /// `http.publicURL`: where callers reach the gateway; empty: wherever they do.
    public var publicURL = ""
    /// Whether there are ways to sign in with a page of their own; nil: as ``Identity/browserProviders`` says.
    public var hasProviderPages: Bool?
    /// Seconds.
    public var preflightMaxAge = 600
    public var version = ""
    /// The adapters that are compiled into the program, with the versions of their packages.
    public var modules: [AdapterName: String] = [:]
    /// Where everything is counted; what `/metrics` of the admin socket shows.
    public var metrics = MetricRegistry()
    /// Records spans of requests; nil: there are none.
    public var tracer: SpanTracer?
    /// `log.slow`: a request that takes as long has a line with its steps; nil: none has.
    public var slowRequest: Duration?
    public var sync = SyncSettings()
    public var liveFeeds = LiveFeedSettings()
    /// Files for browsers, each at its path.
    public var pages: [PageFile] = []

    public init() {}
}

/// The routes that the adapters' declarations give, apart from those of live feeds (``LiveFeedServices/routes(_:_:)``).
struct RouteCatalogue: Sendable {
    let adapters: [ServedAdapter]
    let services: GatewayServices

    func routes() -> [Route] {
        adapters.flatMap { served in
            // A service may have many paths, and its definition is large.
            var services: [String: SOAPServiceContext] = [:]
            return served.declaration.endpoints.compactMap { declared in
                endpoint(declared.kind, of: served, &services).map { Route(declared.method, declared.path, $0) }
            }
        }
    }

    private func context(
        _ service: SOAPService, of served: ServedAdapter, _ known: inout [String: SOAPServiceContext]
    ) -> SOAPServiceContext {
        if let context = known[service.namespace], context.service == service { return context }
        let context = SOAPServiceContext(service, of: served, services: services)
        known[service.namespace] = context
        return context
    }

    private func endpoint(
        _ kind: DeclaredEndpoint.Kind, of served: ServedAdapter, _ known: inout [String: SOAPServiceContext]
    ) -> (any Endpoint)? {
        switch kind {
        case .record(let action, let entity):
            record(action, EntityResource(served: served, entity: entity, services: services))
        case .operation(let operation, let binding):
            OperationEndpoint(served: served, operation: operation, binding: binding, services: services)
        case .soapService(let service): SOAPEndpoint(context(service, of: served, &known))
        case .soapDescription(let service): SOAPDescriptionEndpoint(context(service, of: served, &known))
        case .mount(let mount): MountEndpoint(served: served, mount: mount, services: services)
        case .liveFeed: nil
        case .mirrorRefresh(let entity):
            served.mirrors.first { $0.id.entity == entity }.map { MirrorRefreshEndpoint($0, of: served) }
        }
    }

    private func record(_ action: DeclaredEndpoint.RecordAction, _ resource: EntityResource) -> any Endpoint {
        switch action {
        case .list: ListEndpoint(resource: resource)
        case .create: CreateEndpoint(resource: resource)
        case .read: ReadEndpoint(resource: resource)
        case .update: UpdateEndpoint(resource: resource)
        case .replace: ReplaceEndpoint(resource: resource)
        case .delete: DeleteEndpoint(resource: resource)
        }
    }
}
