import AdapterKit
import Identity

/// Who sent a request, and by which credential. Everybody is somebody: without a credential, the anonymous principal.
/// A class, as ``GatewayRequest`` is one.
final class Caller: Sendable {
    let principal: Principal
    /// Nil for an anonymous caller and at the admin socket.
    let authentication: Authentication?
    /// The session cookie that came along, for CSRF tokens.
    let sessionCookie: Secret?

    init(principal: Principal, authentication: Authentication?, sessionCookie: Secret?) {
        self.principal = principal
        self.authentication = authentication
        self.sessionCookie = sessionCookie
    }

    /// When the credential ends by itself; nil: never.
    var expires: WireDate? { authentication?.expires }

    static let anonymous = Caller(principal: .anonymous, authentication: nil, sessionCookie: nil)

    /// Throws `access.denied` where an API key does not reach that far. What belongs to no adapter is within reach of
    /// every key, but for writing.
    func requireScope(_ effect: Effect, in adapter: AdapterName?) throws(PorticoError) {
        guard let scope = authentication?.scope else { return }
        let isInReach = adapter.map { scope.allows(effect, in: $0) } ?? (effect == .reads || scope.mayWrite)
        guard !isInReach else { return }
        throw PorticoError(.accessDenied, "This key does not reach that far.")
    }

    /// Whoever signed in themselves. A program's key administers neither keys nor sign-ins: it could widen its own reach
    /// and outlive its revocation.
    func person() throws(PorticoError) -> Authentication {
        guard let authentication else { throw PorticoError(.loginRequired, "This needs a login.") }
        guard authentication.method != .apiKey else {
            throw PorticoError(.accessDenied, "An API key cannot do this.")
        }
        return authentication
    }
}
