import AdapterKit

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

    init(_ setups: [ProviderSetup], _ context: IdentityContext) {
        local = LocalAccounts(accounts: context.accounts, hasher: context.hasher, log: context.log)
        portals = setups.compactMap {
            if case .portal(let settings, let upstream) = $0 {
                PortalProvider(settings, upstream, context)
            } else {
                nil
            }
        }
        openIDConnect = setups.compactMap {
            guard case .openIDConnect(let settings, let upstream) = $0 else { return nil }
            return OpenIDConnectProvider(settings, upstream, context)
        }
    }

    var takingPasswords: [any SignInProvider] { [local] + portals }

    var all: [any SignInProvider] { takingPasswords + openIDConnect }

    func openIDConnect(_ name: ProviderName) -> OpenIDConnectProvider? {
        openIDConnect.first { $0.name == name }
    }
}
