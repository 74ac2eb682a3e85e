import AdapterKit
import HTTPTypes
import Identity
import RecordStorage
import ValueTree

extension Gateway {
    /// The admin socket's gateway: operators' routes only.
    ///
    /// `isRestorePending`: whether a backup takes the store's place at the next start. `started`: when the gateway did;
    /// nil: now. `packages`: nil: adapters cannot be installed. `backups`: nil: none are configured. `console`, `figures`: nil: there
    /// is none. `old`: the one whose place this one takes.
    public convenience init(
        administrationOf adapters: [ServedAdapter], store: any Store, identity: Identity, sync: SyncServices,
        maintenance: StoreMaintenance, inspect: @escaping StoreInspector,
        upstreams: any UpstreamDirectory = NoUpstreams(),
        configuration: any ConfigurationControl = NoConfigurationControl(), logs: any LogDirectory = NoLog(),
        packages: (any AdapterDeployment)? = nil, backups: (any BackupControl)? = nil,
        console: (settings: ConsoleSettings, state: ConsoleState)? = nil,
        figures: FigureHistory? = nil, settings: GatewaySettings, readiness: Readiness, started: WireDate? = nil,
        clock: any WallClock, log: Log,
        isRestorePending: @escaping @Sendable () -> Bool, succeeding old: Gateway? = nil
    ) throws {
        var services = GatewayServices(
            store: store, limits: settings.limits, clock: clock, metrics: settings.metrics, succeeding: old?.services)
        services.audit = { try await identity.record($0) }
        let status = StatusRoutes(
            adapters: adapters, services: services, version: settings.version,
            modules: settings.modules, readiness: readiness,
            started: started ?? clock.now(), upstreams: upstreams, isRestorePending: isRestorePending, backups: backups)
        let accounts = AccountAdministration(
            identity: identity, services: services,
            roles: NamedRoles(adapters: adapters, configuration: configuration))
        let routes =
            status.routes() + AccountRoutes(accounts: accounts).routes() + CredentialRoutes(accounts: accounts).routes()
            + AuditRoutes(accounts: accounts).routes()
            + SyncAdminRoutes(sync: sync, identity: identity, services: services).routes()
            + MirrorRoutes(adapters: adapters, upstreams: upstreams, services: services).routes()
            + WriteRoutes(adapters: adapters, services: services).routes()
            + StoreRoutes(maintenance: maintenance, inspect: inspect, services: services).routes()
            + BackupRoutes(backups: backups, services: services).routes()
            + UpstreamRoutes(upstreams: upstreams, services: services).routes()
            + ConfigurationRoutes(configuration: configuration, services: services).routes()
            + AdminTokenRoutes(accounts: accounts).routes()
            + OperatorRoutes(adapters: adapters, services: services).routes()
            + LogRoutes(log: logs, services: services).routes()
            + (packages.map { PackageRoutes(deployment: $0, services: services).routes() } ?? [])
            + RecordRoutes(adapters: adapters, identity: identity, services: services).routes()
            + (figures.map { FigureRoutes(history: $0, services: services).routes() } ?? [])
            + (console.map {
                ConsoleLinkRoutes(settings: $0.settings, state: $0.state, identity: identity, services: services)
                    .routes() + ConsoleSessionRoutes(state: $0.state, accounts: accounts).routes()
            } ?? [])
            + [Route(.get, "/metrics", MetricsEndpoint(registry: settings.metrics))]
        self.init(
            routes: try RouteTable(routes), authenticator: OperatorAuthenticator(),
            csrf: CSRFProtection(identity: nil),
            cors: CrossOrigin(origins: [], maxAge: 0), services: services,
            errors: ErrorWriter(answers: services.encoder), log: log, succeeding: old)
    }

    /// The admin listener's gateway: the same routes as `administration`, for those who show a token or a certificate or have
    /// signed in at the console, and the console. Throws ``RouteTable/Conflict`` where a file of it is at another route.
    public convenience init(
        listenerOf administration: Gateway, identity: Identity, certificates: AdminCertificates?,
        console: (settings: ConsoleSettings, state: ConsoleState)? = nil, succeeding old: Gateway? = nil
    ) throws {
        let console = console.map {
            ConsoleAuthentication(
                settings: $0.settings, state: $0.state, clock: administration.services.clock)
        }
        try self.init(
            listenerOf: administration,
            (old?.authenticator as? AdminAuthenticator)?.renewed(identity, certificates, console)
                ?? AdminAuthenticator(identity: identity, certificates: certificates, console: console), succeeding: old
        )
    }

    convenience init(
        listenerOf administration: Gateway, _ authenticator: AdminAuthenticator, succeeding old: Gateway? = nil
    ) throws {
        var routes = administration.routes
        if let console = authenticator.console {
            try routes.add(
                ConsoleRoutes(authenticator: authenticator, console: console, services: administration.services)
                    .routes())
        }
        self.init(
            routes: routes, authenticator: authenticator,
            csrf: CSRFProtection(identity: authenticator.identity, console: authenticator.console),
            cors: administration.cors, services: administration.services,
            errors: administration.errors, log: administration.log, succeeding: old)
    }
}

/// The effect of an operators' verb, which decides who may use it and whether it is audited.
enum AdministrationAction: Sendable {
    case read
    /// Changes what runs, in a way that can be undone.
    case change
    /// An effect that cannot be undone.
    case destroy
    /// Gives rights, or reaches beyond the gateway's own files.
    case grant

    var effect: Effect { self == .read ? .reads : .writes }

    var role: AdminRole {
        switch self {
        case .read: .viewer
        case .change: .operator
        case .destroy, .grant: .admin
        }
    }

    /// Whether who signed in at the console shows the password again for it.
    var isConfirmed: Bool { role == .admin }
}

/// A route of the admin socket. There are many and they are small, so one type serves them all.
struct AdministrationEndpoint: Endpoint {
    let properties: EndpointProperties
    let description: EndpointDescription
    private let input: ObjectShape
    private let query: Set<String>
    private let services: GatewayServices
    private let result: @Sendable (WireValue) -> AdministrationResult
    private let perform: @Sendable (AuthenticatedRequest, WireDictionary) async throws -> WireValue?

    /// Members of bodies and names of queries that are not declared are refused: what an operator asks for and is not
    /// done, such as a dry run, must not be taken for done. `perform` gets the checked input and answers a value, or nil
    /// for none. `query`: what the address may say. `isConfirmed`: nil: as the action has it. `isAwaited`: false where
    /// `perform` may exchange the gateways. `result`: what a value says that the audit log is to have.
    init(
        _ name: String, _ action: AdministrationAction, _ summary: String, input: ObjectShape? = nil,
        query: Set<String> = [], services: GatewayServices, isConfirmed: Bool? = nil, isAwaited: Bool = true,
        result: @escaping @Sendable (WireValue) -> AdministrationResult = { _ in .done },
        perform: @escaping @Sendable (AuthenticatedRequest, WireDictionary) async throws -> WireValue?
    ) {
        properties = EndpointProperties(
            name: "admin.\(name)", access: .login, effect: action.effect, adminRole: action.role,
            isConfirmed: isConfirmed ?? action.isConfirmed, isAwaited: isAwaited)
        description = EndpointDescription(summary: summary, tag: "Administration", body: input)
        self.input = input ?? ObjectShape("Nothing", members: [])
        self.query = query
        self.services = services
        self.result = result
        self.perform = perform
    }

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        try request.request.target.requireQuery(of: query)
        let body = try await services.bodies.bytes(of: request.request, limit: nil)
        let members = try services.bodies.input(
            of: request.request, parameters: request.parameters, body: body, shape: input, queryMembers: [])
        try input.check(members)
        guard let value = try await perform(request, members) else { return GatewayResponse(.noContent) }
        var response = try services.encoder.write(
            value, to: request.request, presentation: Presentation(omitsNull: false), validators: nil,
            isDone: properties.effect == .writes)
        response.result = result(value)
        return response
    }
}

extension AuthenticatedRequest {
    /// A path parameter; the route has it.
    subscript(name: FieldName) -> String { parameters[name] ?? "" }
}

extension RequestTarget {
    /// Throws `request.invalid` for a name that is none of `known`.
    func requireQuery(of known: Set<String>) throws(PorticoError) {
        guard let other = query.first(where: { !known.contains($0.name) }) else { return }
        throw PorticoError(.requestInvalid, "The address says something that is not known here.", target: other.name)
    }
}
