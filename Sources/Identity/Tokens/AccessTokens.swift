import AdapterKit
import JWTKit

/// Issues and verifies access tokens.
struct AccessTokens: Sendable {
    let settings: IdentityConfiguration.Tokens
    let randomness: any Randomness

    func issue(for account: Account, session: SessionID, with key: KeyRing.Member, at now: WireDate) async throws
        -> Secret
    {
        let issued = UnixTime(now).wholeSeconds
        let claims = AccessTokenClaims(
            iss: settings.issuer, aud: TokenAudience(settings.audience), sub: account.id.text, sid: session.text,
            jti: Base64URL.encode(randomness.bytes(16)), iat: issued, nbf: issued,
            exp: issued + Int(settings.accessLifetime.inSeconds), roles: account.roles.map(\.text).sorted())
        var header = JWTHeader()
        header.typ = AccessTokenInspector.type
        header.kid = key.key.id.text
        return Secret(try await key.algorithm.sign(claims, header: header))
    }

    /// About an account, for another system. Its type and its audience keep it from being taken for an access token.
    func issueSubject(
        _ account: Account, roles: Set<RoleName>, audience: String, with key: KeyRing.Member, at now: WireDate
    ) async throws -> Secret {
        let issued = UnixTime(now).wholeSeconds
        let claims = AccessTokenClaims(
            iss: settings.issuer, aud: TokenAudience(audience), sub: account.id.text, sid: "",
            jti: Base64URL.encode(randomness.bytes(16)), iat: issued, nbf: issued, exp: issued + 60,
            roles: roles.map(\.text).sorted())
        var header = JWTHeader()
        header.typ = "JWT"
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

extension IdentityContext {
    /// Issues and verifies by the configuration of now.
    var tokens: AccessTokens { AccessTokens(settings: configuration.tokens, randomness: randomness) }
}

/// The claims of an access token (RFC 9068, section 2.2), with the sign-in it belongs to as `sid` (OpenID Connect).
///
/// The host believes only `sub` and `sid` of it and looks the rest up, so that a change of roles counts at once; `roles`
/// is there for other systems that verify the token.
struct AccessTokenClaims: JWTPayload, Equatable {
    let iss: String
    let aud: TokenAudience
    let sub: String
    let sid: String
    let jti: String
    let iat: Int
    let nbf: Int
    let exp: Int
    let roles: [String]

    /// ``AccessTokenInspector`` has checked everything before JWTKit is asked for the signature.
    func verify(using algorithm: some JWTAlgorithm) {}
}

/// One text or a list of them (RFC 7519, section 4.1.3). Not JWTKit's claim, which traps on an empty list.
struct TokenAudience: Codable, Sendable, Equatable {
    let values: [String]

    init(_ value: String) {
        values = [value]
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        values = try (try? [container.decode(String.self)]) ?? container.decode([String].self)
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        if values.count == 1 { try container.encode(values[0]) } else { try container.encode(values) }
    }
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
        try check(claims, now: UnixTime(now).wholeSeconds)
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
