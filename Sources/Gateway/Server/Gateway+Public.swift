import AdapterKit
import HTTPTypes
import Identity
import RecordStorage
import ValueTree
import WireFormats

extension Gateway {
    /// The public listener's gateway: the adapters' routes and the gateway's own.
    ///
    /// Throws ``RouteTable/Conflict`` where two adapters claim one path.
    public convenience init(
        adapters: [ServedAdapter], store: any Store, identity: Identity, sync: SyncServices,
        feeds: FeedServices, settings: GatewaySettings, readiness: Readiness, clock: any WallClock, log: Log
    ) throws {
        let services = GatewayServices(
            store: store, limits: settings.limits, clock: clock, rights: sync.rights)
        let accounts = AccountServices(
            identity: identity, cookie: settings.cookie, services: services, clock: clock,
            origins: settings.origins)
        let description = DeferredValue<GatewayResponse>()
        let itself = DeferredValue<Gateway>()
        let routes =
            RouteCatalogue(adapters: adapters, services: services).routes() + Self.accountRoutes(accounts)
            + SyncRoutes(sync: sync, services: services, identity: identity).routes()
            + feeds.routes(services, identity)
            + Self.providerRoutes(accounts)
            + Self.ownRoutes(adapters, services, settings, readiness, description, itself)
        let files = (PageFile.icons + settings.pages).map { Route(.get, $0.path, PageFileEndpoint($0)) }
        self.init(
            routes: try RouteTable(routes + files),
            authenticator: IdentityAuthenticator(
                identity: identity, cookie: settings.cookie, allowsBasic: settings.allowsBasic),
            guardian: CSRFProtection(identity: identity),
            cors: CrossOrigin(origins: settings.origins, maxAge: settings.preflightMaxAge),
            services: services, errors: ErrorWriter(answers: services.answers), log: log)
        // Without the files of pages: they are no operations.
        var openAPI = OpenAPI(catalogue: services.catalogue, version: settings.version)
        description.set(OpenAPIEndpoint.response(try services.catalogue.json.write(openAPI.document(routes))))
        itself.set(self)
    }

    private static func accountRoutes(_ accounts: AccountServices) -> [Route] {
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
            Route(.post, "/irj/portal", PortalLoginEndpoint(accounts: accounts)),
        ]
    }

    /// Only where there is a provider to go to.
    private static func providerRoutes(_ accounts: AccountServices) -> [Route] {
        guard !accounts.identity.browserProviders.isEmpty else { return [] }
        return [
            Route(.get, "/auth/oidc/{provider}/login", ProviderLoginEndpoint(accounts: accounts)),
            Route(.get, "/auth/oidc/{provider}/callback", ProviderCallbackEndpoint(accounts: accounts)),
        ]
    }

    private static func ownRoutes(
        _ adapters: [ServedAdapter], _ services: GatewayServices, _ settings: GatewaySettings, _ readiness: Readiness,
        _ description: DeferredValue<GatewayResponse>, _ itself: DeferredValue<Gateway>
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
