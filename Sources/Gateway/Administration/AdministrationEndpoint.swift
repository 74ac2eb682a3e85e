import AdapterKit
import HTTPTypes
import Identity
import RecordStorage
import ValueTree

extension Gateway {
    /// The admin socket's gateway: operators' routes only.
    ///
    /// `isRestorePending`: whether a backup takes the store's place at the next start. `started`: when the gateway did;
    /// nil: now. `packages`: nil: adapters cannot be installed. `old`: the one whose place this one takes.
    public convenience init(
        administrationOf adapters: [ServedAdapter], store: any Store, identity: Identity, sync: SyncServices,
        maintenance: StoreMaintenance, inspect: @escaping StoreInspector,
        upstreams: any UpstreamDirectory = NoUpstreams(),
        configuration: any ConfigurationControl = NoConfigurationControl(), logs: any LogDirectory = NoLog(),
        packages: (any AdapterDeployment)? = nil,
        settings: GatewaySettings, readiness: Readiness, started: WireDate? = nil, clock: any WallClock, log: Log,
        isRestorePending: @escaping @Sendable () -> Bool, succeeding old: Gateway? = nil
    ) throws {
        var services = GatewayServices(
            store: store, limits: settings.limits, clock: clock, metrics: settings.metrics, succeeding: old?.services)
        services.audit = { try await identity.record($0) }
        let status = StatusRoutes(
            adapters: adapters, services: services, version: settings.version, readiness: readiness,
            started: started ?? clock.now(), upstreams: upstreams, isRestorePending: isRestorePending)
        let accounts = AccountAdministration(
            identity: identity, services: services,
            roles: NamedRoles(adapters: adapters, configuration: configuration))
        let routes =
            status.routes() + AccountRoutes(accounts: accounts).routes() + CredentialRoutes(accounts: accounts).routes()
            + AuditRoutes(accounts: accounts).routes()
            + SyncAdminRoutes(sync: sync, identity: identity, services: services).routes()
            + MirrorRoutes(adapters: adapters, services: services).routes()
            + WriteRoutes(adapters: adapters, services: services).routes()
            + StoreRoutes(maintenance: maintenance, inspect: inspect, services: services).routes()
            + UpstreamRoutes(upstreams: upstreams, services: services).routes()
            + ConfigurationRoutes(configuration: configuration, services: services).routes()
            + AdminTokenRoutes(accounts: accounts).routes()
            + OperatorRoutes(adapters: adapters, services: services).routes()
            + LogRoutes(log: logs, services: services).routes()
            + (packages.map { PackageRoutes(deployment: $0, services: services).routes() } ?? [])
            + [Route(.get, "/metrics", MetricsEndpoint(registry: settings.metrics))]
        self.init(
            routes: try RouteTable(routes), authenticator: OperatorAuthenticator(),
            csrf: CSRFProtection(identity: nil),
            cors: CrossOrigin(origins: [], maxAge: 0), services: services,
            errors: ErrorWriter(answers: services.encoder), log: log, succeeding: old)
    }

    /// The admin listener's gateway: the same routes as `administration`, for those who show a token or a certificate.
    public convenience init(
        listenerOf administration: Gateway, identity: Identity, certificates: AdminCertificates?,
        succeeding old: Gateway? = nil
    ) {
        self.init(
            listenerOf: administration,
            (old?.authenticator as? AdminAuthenticator)?.renewed(identity, certificates)
                ?? AdminAuthenticator(identity: identity, certificates: certificates), succeeding: old)
    }

    convenience init(
        listenerOf administration: Gateway, _ authenticator: AdminAuthenticator, succeeding old: Gateway? = nil
    ) {
        self.init(
            routes: administration.routes, authenticator: authenticator,
            csrf: administration.csrf, cors: administration.cors, services: administration.services,
            errors: administration.errors, log: administration.log, succeeding: old)
    }
}

/// What a verb of operators does, which decides who may use it and whether it is audited.
enum AdministrationAction: Sendable {
    case read
    /// Changes what runs, in a way that can be undone.
    case change
    /// What cannot be undone.
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
}

/// A route of the admin socket. There are many and they are small, so one type serves them all.
struct AdministrationEndpoint: Endpoint {
    let properties: EndpointProperties
    let description: EndpointDescription
    private let input: ObjectShape
    private let query: Set<String>
    private let services: GatewayServices
    private let perform: @Sendable (AuthenticatedRequest, WireDictionary) async throws -> WireValue?

    /// Members of bodies and names of queries that are not declared are refused: what an operator asks for and is not
    /// done, such as a dry run, must not be taken for done. `perform` gets the checked input and answers a value, or nil
    /// for none. `query`: what the address may say. `isAwaited`: false where `perform` may exchange the gateways.
    init(
        _ name: String, _ action: AdministrationAction, _ summary: String, input: ObjectShape? = nil,
        query: Set<String> = [], services: GatewayServices, isAwaited: Bool = true,
        perform: @escaping @Sendable (AuthenticatedRequest, WireDictionary) async throws -> WireValue?
    ) {
        properties = EndpointProperties(
            name: "admin.\(name)", access: .login, effect: action.effect, adminRole: action.role, isAwaited: isAwaited)
        description = EndpointDescription(summary: summary, tag: "Administration", body: input)
        self.input = input ?? ObjectShape("Nothing", members: [])
        self.query = query
        self.services = services
        self.perform = perform
    }

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        try request.request.target.requireQuery(of: query)
        let body = try await services.bodies.bytes(of: request.request, limit: nil)
        let members = try services.bodies.input(
            of: request.request, parameters: request.parameters, body: body, shape: input, queryMembers: [])
        try input.check(members)
        guard let value = try await perform(request, members) else { return GatewayResponse(.noContent) }
        return try services.encoder.write(
            value, to: request.request, presentation: Presentation(omitsNull: false), validators: nil,
            isDone: properties.effect == .writes)
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
