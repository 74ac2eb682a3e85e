import AdapterKit
import Synchronization

/// A configured way to sign in beside the local accounts, and the system behind it.
public enum ProviderSetup: Sendable {
    case portal(PortalSettings, any Upstream)
    case openIDConnect(OpenIDConnectSettings, any Upstream)

    public var name: ProviderName {
        switch self {
        case .portal(let settings, _): settings.name
        case .openIDConnect(let settings, _): settings.name
        }
    }
}

/// All ways to sign in, in the order in which a password is tried.
struct Providers: Sendable {
    let local: LocalAccounts
    let portals: [PortalProvider]
    let openIDConnect: [OpenIDConnectProvider]

    /// `kept`: providers that go on as they are, in place of what their setups say.
    init(_ setups: [ProviderSetup], _ context: IdentityContext, keeping kept: Providers? = nil) {
        local = LocalAccounts(accounts: context.accounts, hasher: context.hasher, log: context.log)
        portals = setups.compactMap {
            guard case .portal(let settings, let upstream) = $0 else { return nil }
            return kept?.portal(settings.name) ?? PortalProvider(settings, upstream, context)
        }
        openIDConnect = setups.compactMap {
            guard case .openIDConnect(let settings, let upstream) = $0 else { return nil }
            return kept?.openIDConnect(settings.name) ?? OpenIDConnectProvider(settings, upstream, context)
        }
    }

    var takingPasswords: [any SignInProvider] { [local] + portals }

    var all: [any SignInProvider] { takingPasswords + openIDConnect }

    func openIDConnect(_ name: ProviderName) -> OpenIDConnectProvider? {
        openIDConnect.first { $0.name == name }
    }

    func portal(_ name: ProviderName) -> PortalProvider? { portals.first { $0.name == name } }

    /// Without these.
    func without(_ names: Set<ProviderName>) -> Providers {
        Providers(
            local: local, portals: portals.filter { !names.contains($0.name) },
            openIDConnect: openIDConnect.filter { !names.contains($0.name) })
    }

    private init(local: LocalAccounts, portals: [PortalProvider], openIDConnect: [OpenIDConnectProvider]) {
        (self.local, self.portals, self.openIDConnect) = (local, portals, openIDConnect)
    }
}

/// The ways to sign in by the configuration of now.
final class CurrentProviders: Sendable {
    private let providers: Mutex<Providers>

    init(_ providers: Providers) {
        self.providers = Mutex(providers)
    }

    var value: Providers { providers.withLock { $0 } }

    func replace(with other: Providers) { providers.withLock { $0 = other } }
}

/// Ways to sign in that another configuration has, before they are used.
public struct PreparedProviders: Sendable {
    let providers: Providers
}
