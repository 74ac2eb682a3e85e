import AdapterKit
import Foundation
import Gateway
import HostConfiguration
import Identity
import Logging

/// The configuration as the rooms want it.
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
    /// A name of ``LogForm``, or ``LogForm/automatic``.
    let logFormat: String
    let logsAccess: Bool
    let stopDeadline: Duration
    let adapters: AdapterLimits
    let gateway: GatewaySettings
    let identity: IdentityConfiguration
    let demoAccounts: [DemoAccount]
    let providers: [ProviderPlan]
    let push: PushPlan
    private let idle: Duration
    private let request: Duration
    let mount: ListenerSettings

    /// A caller has all but one at most, so one processor stays for the others.
    private static func longReads(_ configured: Int) -> Int {
        configured > 0 ? configured : max(2, Processors.allowed)
    }

    init(_ resolved: ResolvedConfiguration, data: String) throws {
        let values = Values(resolved)
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
        logFormat = values.text("log.format")
        logsAccess = values.flag("log.access")
        stopDeadline = values.duration("http.deadlines.stop")
        adapters = AdapterLimits(values)
        idle = values.duration("http.deadlines.head")
        request = values.duration("http.deadlines.request")
        mount = try ListenerSettings(values, directory: dataDirectory)
        gateway = GatewaySettings(values, isSecure: mount.certificate != nil)
        identity = IdentityConfiguration(values)
        demoAccounts = try Self.demoAccounts(resolved)
        providers = try ProviderPlan.all(resolved)
        push = try PushPlan(resolved)
        try refuseDemoBeyondLoopback()
        try refuseCheapPasswordHashes()
        try refuseLongSocketPath()
    }

    /// The admin socket, which `porticoctl` opens.
    var adminSocket: String { dataDirectory.appendingPathComponent("admin.sock").path }

    func serverSettings(_ address: GatewayServer.Address, _ output: LogOutput) -> GatewayServer.Settings {
        var settings = GatewayServer.Settings(address: address)
        settings.idle = idle
        settings.request = request
        if logsAccess, Logger.Level(logLevel) <= .info { settings.accessLog = { output.write($0) } }
        mount.apply(to: &settings)
        return settings
    }

    /// The admin socket's. What an operator begins is written whether somebody waits for the answer or not, so an answer
    /// that comes too early would only say what is not true: imports and backups take as long as they take.
    func administrationSettings(_ output: LogOutput) -> GatewayServer.Settings {
        var settings = serverSettings(.unixSocket(path: adminSocket), output)
        settings.request = .seconds(86_400)
        return settings
    }

    private static func demoAccounts(_ resolved: ResolvedConfiguration) throws -> [DemoAccount] {
        try (resolved["identity.demoAccounts"]?.list ?? []).map { entry in
            guard let name = AccountName(entry["name"]?.text ?? ""), let password = entry["password"]?.secret else {
                throw Refusal("identity.demoAccounts: every account has a valid name and a password.")
            }
            let roles = (entry["roles"]?.list ?? []).compactMap { $0.text.flatMap { RoleName($0) } }
            return DemoAccount(name: name, password: password, roles: Set(roles))
        }
    }

    /// A socket's path has 108 bytes at most, its closing zero included (unix(7)).
    private func refuseLongSocketPath() throws {
        guard adminSocket.utf8.count > 107 else { return }
        throw Refusal("The path of the data directory is too long for the admin socket: \(adminSocket)")
    }

    /// 127.0.0.0/8 (RFC 1122, section 3.2.1.3), by its digits: a name may begin like that and mean any address.
    private var isLoopbackIPv4: Bool {
        host.hasPrefix("127.") && host.utf8.allSatisfy { $0 == UInt8(ascii: ".") || (0x30...0x39).contains($0) }
    }

    /// Everybody knows the demo's passwords.
    private func refuseDemoBeyondLoopback() throws {
        guard !demoAccounts.isEmpty, host != "localhost", host != "::1", !isLoopbackIPv4 else { return }
        throw Refusal("A configuration with demo accounts listens on the loopback interface only, not at \(host).")
    }

    /// Cheap hashes are for test configurations, which have demo accounts and therefore listen on loopback only.
    private func refuseCheapPasswordHashes() throws {
        let cost = identity.passwords.scrypt.logRounds
        let least = ScryptParameters.recommended.logRounds
        guard demoAccounts.isEmpty, cost < least else { return }
        throw Refusal("identity.passwords.cost: less than \(least) needs demo accounts, not \(cost).")
    }
}
