import AdapterKit
import AttachmentFiles
import Console
import Foundation
import Gateway
import HTTPServer
import HostConfiguration
import IPAddresses
import Identity
import Telemetry

/// The resolved configuration as the settings of each module.
struct HostSettings {
    struct DemoAccount {
        let name: AccountName
        let password: Secret
        let roles: Set<RoleName>
    }

    let host: String
    let port: Int
    let dataDirectory: URL
    let storePath: URL
    let storeLongReads: Int
    let storeLongReadTurn: Duration
    let storeStreams: Int
    let storeProbe: Duration
    let loadsSampleData: Bool
    let logLevel: LogLevel
    /// Of modules that differ.
    let logLevels: [String: LogLevel]
    /// Bytes of lines that stay in memory.
    let logMemory: Int
    let traces: TracePlan?
    /// Nil: no backups are made.
    let backups: BackupPlan?
    /// A name of ``LogFormat``, or ``LogFormat/automatic``.
    let logFormat: String
    let logsAccess: Bool
    let stopDeadline: Duration
    let adapters: AdapterLimits
    let packages: PackageSettings
    let gateway: GatewaySettings
    let identity: IdentityConfiguration
    let demoAccounts: [DemoAccount]
    let upstreams: [UpstreamName: UpstreamPlan]
    let providers: [ProviderPlan]
    let push: PushNotificationPlan
    private let idle: Duration
    private let request: Duration
    let mount: ListenerSettings
    /// Nil: there is the admin socket alone.
    let adminListener: AdminListenerSettings?
    /// Of a request's body at the admin socket and the admin listener.
    private let adminBody: Duration

    /// A caller has all but one at most, so one processor stays for the others.
    private static func longReads(_ configured: Int) -> Int {
        configured > 0 ? configured : max(2, Processors.allowed)
    }

    /// `directory`: of the configuration file, from which paths of files are meant. `modules` are compiled
    /// in, with the versions of their packages. `pages` of adapters are served beside the host's own.
    init(
        _ resolved: ResolvedConfiguration, directory: String, data: String, modules: [AdapterName: String],
        pages: [PageFile]
    ) throws {
        let values = SettingValues(resolved)
        host = values.text("http.host")
        port = values.integer("http.port")
        dataDirectory = URL(fileURLWithPath: data, isDirectory: true)
        storePath = URL(fileURLWithPath: values.text("store.path"), relativeTo: dataDirectory).absoluteURL
        storeLongReads = Self.longReads(values.integer("store.longReads"))
        storeLongReadTurn = values.duration("store.longReadTurn")
        storeStreams = values.integer("store.streams")
        storeProbe = values.duration("store.probe")
        loadsSampleData = values.flag("store.sampleData")
        logLevel = LogLevel(rawValue: values.text("log.level")) ?? .info
        logLevels = Dictionary(
            resolved.settings(below: "log.levels").compactMap { path, value in
                value.text.flatMap { LogLevel(rawValue: $0) }.map { (path.joined(separator: "."), $0) }
            }, uniquingKeysWith: { $1 })
        logMemory = values.size("log.memory")
        logFormat = values.text("log.format")
        logsAccess = values.flag("log.access")
        stopDeadline = values.duration("http.deadlines.stop")
        adapters = AdapterLimits(values)
        packages = try PackageSettings(resolved)
        idle = values.duration("http.deadlines.head")
        request = values.duration("http.deadlines.request")
        mount = try ListenerSettings(values, directory: dataDirectory)
        var gateway = GatewaySettings(values, isSecure: mount.certificate != nil, modules: modules, pages: pages)
        identity = IdentityConfiguration(values)
        demoAccounts = try Self.demoAccounts(resolved)
        upstreams = try UpstreamPlan.all(resolved, directory: directory)
        traces = try TracePlan(resolved, upstreams)
        backups = try BackupPlan(resolved, upstreams, data: dataDirectory, directory: directory)
        gateway.slowRequest = values.duration("log.slow")
        providers = try ProviderPlan.all(resolved, upstreams)
        gateway.hasProviderPages = providers.contains(where: \.hasPage)
        self.gateway = gateway
        push = try PushNotificationPlan(resolved, upstreams)
        adminListener = try AdminListenerSettings(resolved, directory: dataDirectory)
        adminBody = values.duration("admin.bodyDeadline")
        try refuseDemoBeyondLoopback()
        try refuseCheapPasswordHashes()
        try refuseLongSocketPath()
    }

    /// The admin socket, which `porticoctl` opens.
    var adminSocket: String { dataDirectory.appendingPathComponent("admin.sock").path }

    /// In the data directory even where the store is elsewhere.
    var attachmentFolder: URL { dataDirectory.appendingPathComponent(AttachmentFiles.folderName) }

    func serverSettings(_ address: ListenAddress, _ logs: HostLogs) -> ServerSettings {
        var settings = ServerSettings(address: address)
        settings.idle = idle
        settings.request = request
        let (logsAccess, output) = (logsAccess, logs.output)
        let module = logs.levelsOfModules.module(LogLevels.requests)
        settings.accessLog = { output.write($0, isWritten: logsAccess && module.isEnabled(.info)) }
        settings.wantsSteps = { module.isEnabled(.debug) }
        mount.apply(to: &settings)
        return settings
    }

    /// The public listener's. On the loopback interface it answers for the names of that, for the one of `http.publicURL` and for
    /// those that no stranger can have. A proxy in front of it passes on names that are not known here, and so does a network.
    func frontSettings(_ address: ListenAddress, _ logs: HostLogs) -> ServerSettings {
        var settings = serverSettings(address, logs)
        settings.certificate = mount.certificate
        if LoopbackAddress.isOne(host), !mount.hasTrustedProxies {
            let named = URLComponents(string: gateway.publicURL)?.host.map { [$0] } ?? []
            settings.hosts = KnownHosts(
                names: named, port: nil, isSecure: mount.certificate != nil, others: .unregistrable)
        }
        return settings
    }

    /// The admin socket's. What an operator begins is written whether the client waits for the answer or not, so an answer
    /// that comes too early would only say what is not true: imports and backups take as long as they take.
    func administrationSettings(_ logs: HostLogs) -> ServerSettings {
        var settings = serverSettings(.unixSocket(path: adminSocket), logs)
        settings.request = .seconds(86_400)
        settings.body = adminBody
        // A scraper keeps its connection, and asks again.
        settings.closesIdleAtOnce = true
        return settings
    }

    /// The admin listener's: the limits of the public one, but for the deadlines, which are the admin socket's.
    /// `port`: where it listens.
    func administrationSettings(
        _ listener: AdminListenerSettings, port: ListeningPort, _ logs: HostLogs
    ) -> ServerSettings {
        var settings = administrationSettings(logs)
        settings.address = .tcp(host: listener.host, port: listener.port)
        settings.hosts = KnownHosts(
            names: listener.names, port: port, isSecure: listener.certificate != nil, others: .none)
        settings.certificate = listener.certificate
        settings.trustedProxies = []
        settings.connections = min(settings.connections, AdminListenerSettings.connections)
        return settings
    }

    private static func demoAccounts(_ resolved: ResolvedConfiguration) throws -> [DemoAccount] {
        try (resolved["identity.demoAccounts"]?.list ?? []).map { entry in
            guard let name = AccountName(entry["name"]?.text ?? ""), let password = entry["password"]?.secret else {
                throw HostCommandError("identity.demoAccounts: every account has a valid name and a password.")
            }
            let roles = (entry["roles"]?.list ?? []).compactMap { $0.text.flatMap { RoleName($0) } }
            return DemoAccount(name: name, password: password, roles: Set(roles))
        }
    }

    /// A socket's path has 108 bytes at most, its closing zero included (unix(7)).
    private func refuseLongSocketPath() throws {
        guard adminSocket.utf8.count > 107 else { return }
        throw HostCommandError("The path of the data directory is too long for the admin socket: \(adminSocket)")
    }

    /// The demo's passwords are public.
    private func refuseDemoBeyondLoopback() throws {
        guard !demoAccounts.isEmpty, !LoopbackAddress.isOne(host) else { return }
        throw HostCommandError(
            "A configuration with demo accounts listens on the loopback interface only, not at \(host).")
    }

    /// Cheap hashes are for test configurations, which have demo accounts and therefore listen on loopback only.
    private func refuseCheapPasswordHashes() throws {
        let cost = identity.passwords.scrypt.logRounds
        let least = ScryptParameters.recommended.logRounds
        guard demoAccounts.isEmpty, cost < least else { return }
        throw HostCommandError("identity.passwords.cost: less than \(least) needs demo accounts, not \(cost).")
    }
}

/// The admin listener of the configuration.
struct AdminListenerSettings {
    /// Open connections; operators are few.
    static let connections = 1_000

    let host: String
    let port: Int
    /// Nil: plain HTTP, on the loopback interface.
    let certificate: ServerCertificate?
    /// Of callers with a certificate; nil: none is asked for.
    let certificateRole: AdminRole?
    /// For which it answers beside those of the loopback interface.
    let names: [String]
    let console: ConsoleSettings

    /// Nil where none is configured. Throws ``HostCommandError``.
    init?(_ resolved: ResolvedConfiguration, directory: URL) throws {
        let values = SettingValues(resolved)
        guard let port = resolved["admin.port"]?.integer else { return nil }
        self.port = port
        host = values.text("admin.host")
        certificate = try ListenerSettings.certificate(
            values, directory, below: "admin.tls", requiresClientCertificate: false)
        guard certificate != nil || LoopbackAddress.isOne(host) else {
            throw HostCommandError(
                "admin: beyond the loopback interface it needs admin.tls.certificate and admin.tls.key, at \(host).")
        }
        certificateRole =
            certificate?.files.clientAuthorities == nil
            ? nil : AdminRole(rawValue: values.text("admin.certificateRole"))
        let isEveryAddress = ["0.0.0.0", "::", ""].contains(host)
        let ownName = host.contains(":") ? "[\(host)]" : host
        names = values.texts("admin.names") + (isEveryAddress ? [] : [ownName])
        let demo = (resolved["identity.demoAccounts"]?.list ?? []).compactMap { entry in
            entry["name"]?.text.flatMap { AccountName($0) }
        }
        console = ConsoleSettings(
            roles: Self.roles(values), demoAccounts: Set(demo), isSecure: certificate != nil,
            host: isEveryAddress ? values.texts("admin.names").first ?? "127.0.0.1" : ownName, pages: ConsoleFiles.all)
    }

    /// A role that is named twice has the most.
    private static func roles(_ values: SettingValues) -> [RoleName: AdminRole] {
        var roles: [RoleName: AdminRole] = [:]
        for role in AdminRole.allCases.sorted() {
            for name in values.texts("admin.roles.\(role.rawValue)").compactMap({ RoleName($0) }) { roles[name] = role }
        }
        return roles
    }
}

/// Addresses of the machine itself.
enum LoopbackAddress {
    /// 127.0.0.0/8 (RFC 1122, section 3.2.1.3) by its digits: a name may begin like that and mean any address.
    static func isOne(_ host: String) -> Bool {
        host == "localhost" || host == "::1"
            || host.hasPrefix("127.")
                && host.utf8.allSatisfy { $0 == UInt8(ascii: ".") || (0x30...0x39).contains($0) }
    }
}

extension HostSettings {
    /// What works and is probably not meant: what is sent to it can be read on its way. Nil: it is not so.
    var plainListenerWarning: String? {
        guard !LoopbackAddress.isOne(host), mount.certificate == nil, !mount.hasTrustedProxies else { return nil }
        return
            "http.host is \(host), which other machines reach, and passwords and tokens cross the network as plain text. "
            + "Set http.tls.certificate and http.tls.key, or, where a proxy in front of it ends TLS, its address in "
            + "http.trustedProxies"
    }
}

/// What the listener is configured with beyond its address.
struct ListenerSettings {
    private let connections: Int
    private let connectionsPerAddress: Int
    private let writeDeadline: Duration
    private let halfClosed: Duration
    private let writeRate: Int
    private let readRate: Int
    private let trustedProxies: [AddressRange]
    /// nil: plain HTTP.
    let certificate: ServerCertificate?

    var hasTrustedProxies: Bool { !trustedProxies.isEmpty }

    /// Throws ``HostCommandError`` where the certificate cannot be used.
    init(_ values: SettingValues, directory: URL) throws {
        connections = values.integer("http.limits.connections")
        connectionsPerAddress = values.integer("http.limits.connectionsPerAddress")
        writeDeadline = values.duration("http.deadlines.write")
        halfClosed = values.duration("http.deadlines.halfClosed")
        writeRate = values.size("http.limits.writeRate")
        readRate = values.size("http.limits.readRate")
        certificate = try Self.certificate(values, directory, below: "http.tls")
        trustedProxies = try values.texts("http.trustedProxies").map { text in
            guard let range = AddressRange(text) else {
                throw HostCommandError(
                    "http.trustedProxies: \(text) is neither an address nor a network such as 10.0.0.0/8.")
            }
            return range
        }
    }

    static func certificate(
        _ values: SettingValues, _ directory: URL, below key: String, requiresClientCertificate: Bool = true
    ) throws -> ServerCertificate? {
        func path(_ name: String) -> String? {
            let text = values.text(name)
            return text.isEmpty ? nil : URL(fileURLWithPath: text, relativeTo: directory).path
        }
        guard let file = path("\(key).certificate"), let privateKey = path("\(key).key") else {
            let isHalf = ["certificate", "key", "clientAuthorities"].contains { path("\(key).\($0)") != nil }
            if isHalf { throw HostCommandError("\(key).certificate and \(key).key are needed together.") }
            return nil
        }
        do {
            return try ServerCertificate(
                .init(
                    certificate: file, key: privateKey, clientAuthorities: path("\(key).clientAuthorities"),
                    requiresClientCertificate: requiresClientCertificate))
        } catch {
            throw HostCommandError("\(key): \(error)")
        }
    }

    func apply(to settings: inout ServerSettings) {
        settings.connections = connections
        settings.connectionsPerAddress = connectionsPerAddress
        settings.write = writeDeadline
        settings.halfClosed = halfClosed
        settings.writeRate = writeRate
        settings.readRate = readRate
        settings.trustedProxies = trustedProxies
    }
}

/// Values of the right kind that cannot work. All of them are reported, each with its place.
struct SettingChecks {
    private let resolved: ResolvedConfiguration

    init(_ resolved: ResolvedConfiguration) {
        self.resolved = resolved
    }

    /// Throws ``ConfigurationErrors``.
    func check() throws {
        let errors = origins + publicURL + cookie + portalLogin + queueTimeout + adminNames + adminRoles
        guard errors.isEmpty else { throw ConfigurationErrors(errors) }
    }

    private var origins: [ConfigurationError] {
        texts("http.cors.origins").filter { !Self.isOrigin($0) }.map {
            error(
                "http.cors.origins",
                "\($0.debugDescription) is no origin: a scheme, `://`, a host in lower case and a port, nothing behind."
            )
        }
    }

    private var publicURL: [ConfigurationError] {
        let key = "http.publicURL"
        guard let address = resolved[key]?.text, !address.isEmpty, !Self.isAddress(address) else { return [] }
        return [
            error(
                key, "\(address.debugDescription) is no address of HTTP without a slash, query or fragment at its end.")
        ]
    }

    private static func isAddress(_ text: String) -> Bool {
        guard let parts = URLComponents(string: text), let scheme = parts.scheme, let host = parts.host else {
            return false
        }
        return ["http", "https"].contains(scheme) && !host.isEmpty && !text.hasSuffix("/") && parts.query == nil
            && parts.fragment == nil && parts.user == nil
    }

    /// As browsers send it (RFC 6454, section 6.2): without user, path and slash at the end.
    private static func isOrigin(_ text: String) -> Bool {
        guard let parts = URLComponents(string: text), let scheme = parts.scheme, let host = parts.host else {
            return false
        }
        let port = parts.port.map { ":\($0)" } ?? ""
        return !host.isEmpty && text == "\(scheme)://\(host)\(port)" && text == text.lowercased()
    }

    /// A token (RFC 6265, section 4.1.1).
    private var cookie: [ConfigurationError] {
        let key = "identity.session.cookie.name"
        let isToken = { (byte: UInt8) in
            byte > 0x20 && byte < 0x7F && !"()<>@,;:\\\"/[]?={}".utf8.contains(byte)
        }
        guard let name = resolved[key]?.text else { return [] }
        guard !name.isEmpty, name.utf8.allSatisfy(isToken) else {
            return [
                error(key, "A cookie's name has letters, digits and some signs such as `_` and `-`, and no spaces.")
            ]
        }
        guard !SessionCookieSettings.isTaken(name) else {
            return [error(key, "The operators' console has the cookie of this name.")]
        }
        return []
    }

    private var adminNames: [ConfigurationError] {
        let key = "admin.names"
        return texts(key).filter { name in
            name.isEmpty || name.utf8.contains { $0 <= 0x20 || $0 >= 0x7F || "/@,?#\\*".utf8.contains($0) }
        }.map {
            error(
                key,
                "\($0.debugDescription) is no host: a name or an address, an address of IPv6 in brackets, with `:` and a port or without."
            )
        }
    }

    private var adminRoles: [ConfigurationError] {
        AdminRole.allCases.flatMap { role in
            let key = "admin.roles.\(role.rawValue)"
            return texts(key).filter { RoleName($0) == nil }.map {
                error(key, "\($0.debugDescription) is no name for a role.")
            }
        }
    }

    private var portalLogin: [ConfigurationError] {
        let key = "identity.portalLogin"
        guard let path = resolved[key]?.text, !path.isEmpty else { return [] }
        guard let template = PathTemplate(path), template.parameters.isEmpty else {
            return [error(key, "A path begins with `/`, has no empty part and no parameter.")]
        }
        return []
    }

    /// The default gives way by itself.
    private var queueTimeout: [ConfigurationError] {
        let key = "identity.login.queueTimeout"
        guard resolved.location(of: key) != nil, let timeout = resolved[key]?.duration,
            let request = resolved["http.deadlines.request"]?.duration, timeout > request / 2
        else { return [] }
        return [error(key, "At most half of http.deadlines.request.")]
    }

    private func texts(_ key: String) -> [String] { (resolved[key]?.list ?? []).compactMap(\.text) }

    private func error(_ key: String, _ message: String) -> ConfigurationError {
        ConfigurationError(message, at: resolved.location(of: key) ?? .commandLine(key))
    }
}

/// Settings by name. A missing one is a mistake in the reference, which has a default for each of them, and traps.
struct SettingValues {
    private let resolved: ResolvedConfiguration

    init(_ resolved: ResolvedConfiguration) {
        self.resolved = resolved
    }

    func text(_ name: String) -> String { require(name, resolved[name]?.text) }
    func integer(_ name: String) -> Int { require(name, resolved[name]?.integer) }
    func number(_ name: String) -> Double {
        require(name, resolved[name].flatMap { if case .number(let number) = $0 { number } else { nil } })
    }
    func flag(_ name: String) -> Bool { require(name, resolved[name]?.flag) }
    func duration(_ name: String) -> Duration { require(name, resolved[name]?.duration) }
    func optionalDuration(_ name: String) -> Duration? { resolved[name]?.duration }
    func size(_ name: String) -> Int { require(name, resolved[name]?.size) }
    func list(_ name: String) -> [ConfigurationValue] { require(name, resolved[name]?.list) }
    func texts(_ name: String) -> [String] { require(name, resolved[name]?.list?.compactMap(\.text)) }

    private func require<Value>(_ name: String, _ value: Value?) -> Value {
        // Cannot trap: a key of this file has a default of its kind, which is read by the first test that makes a plan.
        guard let value else { preconditionFailure("\(name) has no default") }
        return value
    }
}
