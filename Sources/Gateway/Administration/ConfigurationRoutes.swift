import AdapterKit
import HTTPTypes
import Identity
import ValueTree

/// The configuration of a gateway that runs, as operators see and change it.
public protocol ConfigurationControl: Sendable {
    /// The settings that are used, by key.
    func settings() async -> [ConfiguredSetting]

    /// Reads the configuration's sources again and says what they would change, without changing anything.
    func check() async -> ConfigurationReport

    /// Uses what the sources say now: all of it, or nothing where something stands against it. Throws `record.conflict`
    /// while another one is under way.
    func apply(by actor: Principal, from address: String) async throws -> ConfigurationReport
}

/// One setting that is used.
public struct ConfiguredSetting: Sendable {
    public var key: String
    /// As one would write it, secrets left out.
    public var value: String
    /// Where it stands; nil: it is the default.
    public var location: String?
    /// Whether another value is taken up without a restart.
    public var reloads: Bool

    public init(key: String, value: String, location: String?, reloads: Bool) {
        self.key = key
        self.value = value
        self.location = location
        self.reloads = reloads
    }
}

/// The configuration's sources, beside what is used.
public struct ConfigurationReport: Sendable {
    /// One key whose value differs.
    public struct Change: Sendable {
        public var key: String
        /// As one would write it; nil: nothing.
        public var old: String?
        public var new: String?
        /// Why it needs a restart; nil: it does not.
        public var obstacle: String?

        public init(key: String, old: String?, new: String?, obstacle: String?) {
            self.key = key
            self.old = old
            self.new = new
            self.obstacle = obstacle
        }
    }

    public var changes: [Change]
    /// Why the sources cannot be used, with their places. The gateway goes on with what it has.
    public var errors: [String]
    public var warnings: [String]
    /// The effects on what is stored, a sentence each.
    public var data: [String]
    public var isApplied: Bool

    public init(
        changes: [Change] = [], errors: [String] = [], warnings: [String] = [], data: [String] = [],
        isApplied: Bool = false
    ) {
        self.data = data
        self.changes = changes
        self.errors = errors
        self.warnings = warnings
        self.isApplied = isApplied
    }

    public var obstacles: [Change] { changes.filter { $0.obstacle != nil } }
}

/// For hosts whose configuration stays as it is.
public struct NoConfigurationControl: ConfigurationControl {
    public init() {}

    public func settings() async -> [ConfiguredSetting] { [] }
    public func check() async -> ConfigurationReport { ConfigurationReport() }
    public func apply(by actor: Principal, from address: String) async throws -> ConfigurationReport {
        ConfigurationReport()
    }
}

/// `porticoctl config`.
struct ConfigurationRoutes: Sendable {
    let configuration: any ConfigurationControl
    let services: GatewayServices

    func routes() -> [Route] {
        [
            Route(
                .get, "/admin/v1/configuration",
                AdministrationEndpoint("configuration.show", .read, "What is configured.", services: services) { _, _ in
                    ["settings": .array(await configuration.settings().map(Self.value))]
                }),
            Route(
                .get, "/admin/v1/configuration/changes",
                AdministrationEndpoint(
                    "configuration.check", .read,
                    "Whether the configuration's sources are valid, and what they change.",
                    services: services
                ) { _, _ in Self.value(await configuration.check()) }),
            Route(
                .post, "/admin/v1/configuration/apply",
                AdministrationEndpoint(
                    "configuration.apply", .change, "Uses what the configuration's sources say now.",
                    services: services, isAwaited: false,
                    result: { report in
                        if report["applied"]?.boolValue == true { return .done }
                        return report["valid"]?.boolValue == true ? .nothingChanged : .failed
                    }
                ) { request, _ in
                    let report = try await configuration.apply(
                        by: request.caller.principal, from: request.request.peer)
                    return Self.value(report)
                }),
        ]
    }

    private static func value(_ setting: ConfiguredSetting) -> WireValue {
        [
            "key": .string(setting.key), "value": .string(setting.value),
            "source": .string(setting.location ?? "default"), "reloads": .bool(setting.reloads),
        ]
    }

    private static func value(_ report: ConfigurationReport) -> WireValue {
        [
            "valid": .bool(report.errors.isEmpty), "applied": .bool(report.isApplied),
            "changes": .array(
                report.changes.map { change in
                    [
                        "key": .string(change.key), "old": change.old.map { .string($0) } ?? .null,
                        "new": change.new.map { .string($0) } ?? .null,
                        "effect": .string(change.obstacle ?? "reloads"),
                    ]
                }),
            "data": .array(report.data.map { .string($0) }),
            "errors": .array(report.errors.map { .string($0) }),
            "warnings": .array(report.warnings.map { .string($0) }),
        ]
    }
}

/// `porticoctl admin tokens`.
struct AdminTokenRoutes: Sendable {
    let accounts: AccountAdministration

    private static let creation = ObjectShape(
        "NewAdminToken",
        members: [
            Member("name", .string(maximumLength: 64), isRequired: true),
            Member("role", .choice(AdminRole.allCases.map(\.rawValue)), isRequired: true),
        ])

    func routes() -> [Route] {
        [
            Route(
                .get, "/admin/v1/tokens",
                accounts.endpoint("tokens.list", .read, "The admin tokens.") { _, _ in
                    ["tokens": .array(try await administration.adminTokens().map(Self.value))]
                }),
            Route(
                .post, "/admin/v1/tokens",
                accounts.endpoint("tokens.add", .grant, "Adds an admin token.", Self.creation) { request, input in
                    guard let role = AdminRole(rawValue: input.text("role")) else {
                        throw PorticoError(.requestInvalid, "There is no such role.", target: "role")
                    }
                    let made = try await administration.addAdminToken(
                        try Self.name(input.text("name")), role: role, by: request.caller.principal)
                    guard case .dictionary(var members) = Self.value(made.token) else { return nil }
                    members["token"] = .string(made.credential.reveal())
                    return .dictionary(members)
                }),
            Route(
                .post, "/admin/v1/tokens/{name}/revoke",
                accounts.endpoint("tokens.revoke", .grant, "Revokes an admin token.") { request, _ in
                    try await administration.revokeAdminToken(
                        try Self.name(request["name"]), by: request.caller.principal)
                    return nil
                }),
        ]
    }

    private var administration: Administration { accounts.identity.administration }

    private static func name(_ text: String) throws(PorticoError) -> AdminTokenName {
        guard let name = AdminTokenName(text) else {
            throw PorticoError(
                .requestInvalid, "A token's name has small letters, digits and hyphens.", target: "name")
        }
        return name
    }

    private static func value(_ token: AdminToken) -> WireValue {
        [
            "name": .string(token.name.text), "role": .string(token.role.rawValue),
            "created": .date(token.created.wholeSeconds),
        ]
    }
}
