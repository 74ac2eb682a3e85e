import AdapterKit
import Identity

/// Who sent a request, and by which credential. Everybody is somebody: without a credential, the anonymous principal.
struct Caller: Sendable {
    let principal: Principal
    /// Nil for an anonymous caller and at the admin socket.
    let authentication: Authentication?
    /// The session cookie that came along, for CSRF tokens.
    let sessionCookie: Secret?

    static let anonymous = Caller(principal: .anonymous, authentication: nil, sessionCookie: nil)

    /// Throws `access.denied` where an API key does not reach that far.
    func requireScope(_ effect: Effect, in adapter: AdapterName?) throws(PorticoError) {
        guard let scope = authentication?.scope, let adapter, !scope.allows(effect, in: adapter) else { return }
        throw PorticoError(.accessDenied, "This key does not reach that far.")
    }
}
