import AdapterKit
import JWTKit

/// Why an access token is not accepted. For the log; callers learn only that it is not.
enum TokenRefusal: String, Error, CaseIterable {
    case tooLarge, malformed, algorithm, type, critical, keyUnknown, issuer, audience, expired, notYetValid, signature,
        nonce
}

/// Reads a token and checks all but the signature, strictly: only what ``AccessTokens`` issues passes.
///
/// JWTKit alone would take its default key for an unknown `kid`, follow the token's `alg`, ignore `crit`, and check
/// neither `typ` nor `iss`. RFC 8725 lists the attacks.
struct AccessTokenInspector: Sendable {
    static let algorithm = "ES256"
    static let type = "at+jwt"
    static let maximumBytes = 4096
    /// By how much the clocks of two nodes may differ.
    static let clockSkew = 60

    let issuer: String
    let audience: String

    func inspect(_ token: String, keys: KeyRing, now: WireDate) throws(TokenRefusal) -> (
        claims: AccessTokenClaims, key: KeyRing.Member
    ) {
        guard token.utf8.count <= Self.maximumBytes else { throw .tooLarge }
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, parts.allSatisfy({ !$0.isEmpty && Base64URL.isWellFormed($0) }) else {
            throw .malformed
        }
        let (header, claims) = try parse(token)
        let key = try check(header, keys: keys, now: now)
        try check(claims, now: Int(now.secondsSince1970))
        return (claims, key)
    }

    private func check(_ header: JWTHeader, keys: KeyRing, now: WireDate) throws(TokenRefusal) -> KeyRing.Member {
        guard header.alg == Self.algorithm else { throw .algorithm }
        guard header.typ == Self.type else { throw .type }
        // No extension is understood, so none may be critical (RFC 7515, section 4.1.11).
        guard header.fields["crit"] == nil else { throw .critical }
        guard let kid = header.kid, let key = keys.member(kid, now: now) else { throw .keyUnknown }
        return key
    }

    private func check(_ claims: AccessTokenClaims, now: Int) throws(TokenRefusal) {
        guard claims.iss == issuer else { throw .issuer }
        guard claims.aud.values.contains(audience) else { throw .audience }
        guard now < claims.exp else { throw .expired }
        guard claims.nbf <= now + Self.clockSkew, claims.iat <= now + Self.clockSkew else { throw .notYetValid }
    }

    /// JWTKit's parser reads; it checks nothing.
    private func parse(_ token: String) throws(TokenRefusal) -> (JWTHeader, AccessTokenClaims) {
        guard let parts = try? DefaultJWTParser().parse(Array(token.utf8), as: AccessTokenClaims.self) else {
            throw .malformed
        }
        return (parts.header, parts.payload)
    }
}
