import AdapterKit
import HTTPTypes
import Identity
import RecordStorage
import ValueTree

extension Gateway {
    /// The admin socket's gateway: operators' routes only.
    ///
    /// `isRestorePending`: whether a backup takes the store's place at the next start.
    public convenience init(
        administrationOf adapters: [ServedAdapter], store: any Store, identity: Identity, sync: SyncServices,
        upkeep: StoreMaintenance,
        settings: GatewaySettings, readiness: Readiness, clock: any WallClock, log: Log,
        isRestorePending: @escaping @Sendable () -> Bool
    ) throws {
        let services = GatewayServices(store: store, limits: settings.limits, clock: clock)
        let status = StatusRoutes(
            adapters: adapters, services: services, version: settings.version, readiness: readiness,
            started: clock.now(), isRestorePending: isRestorePending)
        let accounts = AccountAdministration(identity: identity, services: services)
        let routes =
            status.routes() + AccountRoutes(accounts: accounts).routes() + CredentialRoutes(accounts: accounts).routes()
            + AuditRoutes(accounts: accounts).routes()
            + SyncAdminRoutes(sync: sync, identity: identity, services: services).routes()
            + StoreRoutes(upkeep: upkeep, services: services).routes()
            + OperatorRoutes(adapters: adapters, services: services).routes()
        self.init(
            routes: try RouteTable(routes), authenticator: OperatorAuthenticator(),
            guardian: CSRFProtection(identity: nil),
            cors: CrossOrigin(origins: [], maxAge: 0), services: services,
            errors: ErrorWriter(answers: services.answers), log: log)
    }
}
