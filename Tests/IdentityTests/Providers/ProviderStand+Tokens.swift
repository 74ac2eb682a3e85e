import AdapterKit
import Crypto
import Foundation
import Identity
import Synchronization
import Testing
import Upstream
import UpstreamStandIn

extension ProviderStand {
    static let now = 1_800_000_000

    /// What an ID token says; the nonce is its question's.
    func identityClaims(nonce: String) -> [String: Any] {
        [
            "iss": issuer, "aud": "portico & co", "sub": "u-1", "nonce": nonce, "iat": Self.now, "exp": Self.now + 300,
            "preferred_username": "alice", "name": "Alice Öhm", "groups": ["staff", "others"],
        ]
    }

    /// What an access token for the gateway says (RFC 9068).
    var accessClaims: [String: Any] {
        [
            "iss": issuer, "aud": ["https://gateway.example.com", "other"], "sub": "u-1", "iat": Self.now,
            "exp": Self.now + 300, "client_id": "app", "groups": ["staff"], "preferred_username": "alice",
        ]
    }

    func sign(_ claims: [String: Any], _ header: [String: Any] = [:]) throws -> Secret {
        let (key, id) = state.withLock { ($0.key, $0.keyID) }
        return try Self.token(claims, ["alg": "ES256", "kid": id].merging(header) { $1 }) {
            Array(try key.signature(for: $0).rawRepresentation)
        }
    }

    func accessToken(_ change: (inout [String: Any]) -> Void = { _ in }, _ header: [String: Any] = [:]) throws -> Secret
    {
        var claims = accessClaims
        change(&claims)
        return try sign(claims, ["typ": "at+jwt"].merging(header) { $1 })
    }

    /// `NSNull` in the header leaves a member out.
    static func token(_ claims: [String: Any], _ header: [String: Any], _ signature: ([UInt8]) throws -> [UInt8])
        throws -> Secret
    {
        let parts = try [header.filter { !($0.value is NSNull) }, claims].map {
            ForgedToken.encode(Array(try JSONSerialization.data(withJSONObject: $0)))
        }
        let input = parts.joined(separator: ".")
        return Secret(input + "." + ForgedToken.encode(try signature(Array(input.utf8))))
    }

    /// What a person does at the provider's page: gives the code that the browser goes back with.
    func authorize(
        _ location: String, _ claims: ([String: Any]) -> [String: Any] = { $0 }, header: [String: Any] = [:]
    ) throws -> (code: Secret, state: Secret) {
        let query = Self.form(String(location.drop { $0 != "?" }.dropFirst()))
        guard query["response_type"] == "code", query["client_id"] == "portico & co",
            query["code_challenge_method"] == "S256", query["realm"] == "1",
            query["scope"]?.contains("openid") == true, let challenge = query["code_challenge"],
            let nonce = query["nonce"], let state = query["state"]
        else { throw StandError() }
        return (try grant(challenge: challenge, sign(claims(identityClaims(nonce: nonce)), header)), Secret(state))
    }

    /// A code for that token.
    func grant(challenge: String, _ token: Secret) -> Secret {
        let code = UUID().uuidString
        state.withLock { $0.grants[code] = Grant(challenge: challenge, token: token) }
        return Secret(code)
    }

    /// As evidence, without a browser.
    func evidence(verifier: String = "v", nonce: String = "n") throws -> SignInEvidence {
        let challenge = ForgedToken.encode(Array(SHA256.hash(data: Data(verifier.utf8))))
        let code = grant(challenge: challenge, try sign(identityClaims(nonce: nonce)))
        return .authorizationCode(code, verifier: Secret(verifier), nonce: Secret(nonce))
    }
}

/// A provider and a house that signs in there.
func withProvider(
    _ adjust: (inout OpenIDConnectSettings) -> Void = { _ in },
    _ body: (ProviderStand, IdentityFixture) async throws -> Void
) async throws {
    let provider = try await ProviderStand.start()
    let upstream = provider.upstream()
    let fixture = try await IdentityFixture(providers: [.openIDConnect(provider.settings(adjust), upstream)])
    do { try await body(provider, fixture) } catch { Issue.record(error) }
    await upstream.stop()
    await provider.server.stop()
}
