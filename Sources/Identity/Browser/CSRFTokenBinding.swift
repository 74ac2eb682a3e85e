import AdapterKit

/// What a CSRF token is bound to.
public enum CSRFTokenBinding: Sendable {
    /// The session that this cookie stands for.
    case session(Secret)
    /// Whoever is signed in by something else: a password with each request, a token, a key. Such a token is known to the
    /// process that issued it alone; after a restart it has to be fetched again.
    case principal(Principal)
}

/// Makes bonds into secrets that tokens are derived from.
struct CSRFTokenBindings: Sendable {
    private let key: String

    init(_ randomness: any Randomness) {
        key = Base64URL.encode(randomness.bytes(32))
    }

    /// A cookie is one by itself; who somebody is can be guessed, so it goes with what this process drew.
    func secret(of tokenBinding: CSRFTokenBinding) -> Secret {
        switch tokenBinding {
        case .session(let cookie): cookie
        case .principal(let principal): Secret("\(key) \(principal.kind) \(principal.id)")
        }
    }
}
