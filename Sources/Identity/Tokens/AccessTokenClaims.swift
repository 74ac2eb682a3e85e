import AdapterKit
import JWTKit

/// What an access token says (RFC 9068, section 2.2), with the sign-in it belongs to as `sid` (OpenID Connect).
///
/// The host believes only `sub` and `sid` of it and looks the rest up, so that a change of roles counts at once; `roles`
/// is there for other systems that verify the token.
struct AccessTokenClaims: JWTPayload, Equatable {
    let iss: String
    let aud: Audience
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
struct Audience: Codable, Sendable, Equatable {
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
