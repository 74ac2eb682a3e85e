import AdapterKit
import Crypto

/// Proof that a write comes from a page that could read an answer of ours, not just from a browser that holds the
/// cookie.
///
/// `NONCE.MAC`, both base64url: 16 random bytes, and HMAC-SHA256 of them under a key derived from the cookie's value by
/// HKDF. So it is bound to the session, needs no storage, survives a restart and works on every node; it ends with
/// the cookie; it does not reveal the cookie; and it never repeats, so that compression gives nothing away (BREACH).
enum CSRFToken {
    static let nonceLength = 16

    static func issue(for cookie: Secret, _ randomness: any Randomness) -> Secret {
        let nonce = randomness.bytes(nonceLength)
        let code = Array(HMAC<SHA256>.authenticationCode(for: nonce, using: key(cookie)))
        return Secret("\(Base64URL.encode(nonce)).\(Base64URL.encode(code))")
    }

    /// Takes the same time for every wrong code.
    static func isValid(_ token: Secret, for cookie: Secret) -> Bool {
        let parts = token.reveal().split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ $0.utf8.count <= 64 }),
            let nonce = Base64URL.decode(String(parts[0])), let code = Base64URL.decode(String(parts[1])),
            nonce.count == nonceLength
        else { return false }
        return HMAC<SHA256>.isValidAuthenticationCode(code, authenticating: nonce, using: key(cookie))
    }

    private static func key(_ cookie: Secret) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: Array(cookie.reveal().utf8)), info: Array("portico csrf".utf8),
            outputByteCount: 32)
    }
}

/// The sign-in that a CSRF token is bound to.
public enum CSRFTokenBinding: Sendable {
    /// The session that this cookie stands for.
    case session(Secret)
    /// A principal with another credential: Basic, a token, an API key. Such a token is valid in the process that
    /// issued it; after a restart it has to be fetched again.
    case principal(Principal)
}

/// Derives the secret of a token from its binding.
struct CSRFTokenBindings: Sendable {
    private let key: String

    init(_ randomness: any Randomness) {
        key = Base64URL.encode(randomness.bytes(32))
    }

    /// A cookie's value is secret itself. A principal can be guessed, so its binding is keyed with random bytes of this
    /// process.
    func secret(of tokenBinding: CSRFTokenBinding) -> Secret {
        switch tokenBinding {
        case .session(let cookie): cookie
        case .principal(let principal): Secret("\(key) \(principal.kind) \(principal.id)")
        }
    }
}
