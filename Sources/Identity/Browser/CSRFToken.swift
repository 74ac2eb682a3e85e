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
            let nonce = Base64URL.decode(parts[0]), let code = Base64URL.decode(parts[1]), nonce.count == nonceLength
        else { return false }
        return HMAC<SHA256>.isValidAuthenticationCode(code, authenticating: nonce, using: key(cookie))
    }

    private static func key(_ cookie: Secret) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: Array(cookie.reveal().utf8)), info: Array("portico csrf".utf8),
            outputByteCount: 32)
    }
}
