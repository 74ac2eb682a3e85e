import AdapterKit
import Identity

/// The sender of a request and the credential that it used. Without a credential the principal is the anonymous one.
///
/// A class, as ``GatewayRequest`` is one.
final class Caller: Sendable {
    let principal: Principal
    /// Nil for an anonymous caller and at the admin socket.
    let authentication: Authentication?
    /// The session cookie that came along, for CSRF tokens.
    let sessionCookie: Secret?
    /// What an operator may do; nil for callers of the public listener.
    let adminRole: AdminRole?

    init(
        principal: Principal, authentication: Authentication?, sessionCookie: Secret?, adminRole: AdminRole? = nil
    ) {
        self.principal = principal
        self.authentication = authentication
        self.sessionCookie = sessionCookie
        self.adminRole = adminRole
    }

    /// Whether a credential was sent, or the socket is one.
    var isIdentified: Bool { authentication != nil || adminRole != nil }

    /// When the credential ends by itself; nil: never.
    var expires: WireDate? { authentication?.expires }

    static let anonymous = Caller(principal: .anonymous, authentication: nil, sessionCookie: nil)

    /// Throws `access.denied` for an operator whose role is less than the verb needs.
    func requireRole(_ needed: AdminRole?) throws(PorticoError) {
        guard let needed, adminRole.map({ $0 < needed }) ?? true else { return }
        throw PorticoError(.accessDenied, "This needs the role \(needed.rawValue).")
    }

    /// Throws `access.denied` where the scope of an API key does not allow the effect. Endpoints outside of adapters
    /// are readable with every key.
    func requireScope(_ effect: Effect, in adapter: AdapterName?) throws(PorticoError) {
        guard let scope = authentication?.scope else { return }
        let isInReach = adapter.map { scope.allows(effect, in: $0) } ?? (effect == .reads || scope.mayWrite)
        guard !isInReach else { return }
        throw PorticoError(.accessDenied, "This key does not reach that far.")
    }

    /// The authentication of a person. Throws `access.denied` for an API key: a program that administers keys and
    /// sign-ins could widen its own scope and outlive its revocation.
    func person() throws(PorticoError) -> Authentication {
        guard let authentication else { throw PorticoError(.loginRequired, "This needs a login.") }
        guard authentication.method != .apiKey else {
            throw PorticoError(.accessDenied, "An API key cannot do this.")
        }
        return authentication
    }
}
