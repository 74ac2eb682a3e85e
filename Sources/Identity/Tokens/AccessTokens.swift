import AdapterKit
import JWTKit

/// Issues and verifies access tokens.
struct AccessTokens: Sendable {
    let settings: IdentityConfiguration.Tokens
    let randomness: any Randomness

    func issue(for account: Account, session: SessionID, with key: KeyRing.Member, at now: WireDate) async throws
        -> Secret
    {
        let issued = Int(now.secondsSince1970)
        let claims = AccessTokenClaims(
            iss: settings.issuer, aud: Audience(settings.audience), sub: account.id.text, sid: session.text,
            jti: Base64URL.encode(randomness.bytes(16)), iat: issued, nbf: issued,
            exp: issued + Int(settings.accessLifetime.inSeconds), roles: account.roles.map(\.text).sorted())
        var header = JWTHeader()
        header.typ = AccessTokenInspector.type
        header.kid = key.key.id.text
        return Secret(try await key.algorithm.sign(claims, header: header))
    }

    func verify(_ token: Secret, keys: KeyRing, now: WireDate) async throws(TokenRefusal) -> AccessTokenClaims {
        let inspector = AccessTokenInspector(issuer: settings.issuer, audience: settings.audience)
        let (claims, key) = try inspector.inspect(token.reveal(), keys: keys, now: now)
        guard let verified = try? await key.algorithm.verify(token.reveal(), as: AccessTokenClaims.self),
            verified == claims
        else { throw .signature }
        return claims
    }
}
