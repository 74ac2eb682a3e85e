import AdapterKit
import Crypto
import CryptoExtras
import Foundation
import Identity
import Synchronization
import Testing
import UpstreamStandIn

@Suite struct ProviderTokenAttackTests {
    @Test func `access tokens that are not for us, not now, or not by the provider are refused`() async throws {
        try await withProvider { stand, fixture in
            let token = try stand.accessToken()
            #expect(try await accepts(fixture, token))
            let now = ProviderStand.now
            let changes: [(String, Any)] = [
                ("iss", "https://evil.example.com"), ("iss", stand.issuer + "/"), ("aud", "portico"), ("aud", [Any]()),
                ("aud", ["x", 1]), ("exp", now), ("exp", "\(now + 300)"), ("iat", now + 61), ("nbf", now + 61),
                ("nbf", "soon"), ("sub", ""), ("sub", 7), ("sub", String(repeating: "x", count: 256)),
                ("exp", NSNull()), ("iat", NSNull()), ("sub", NSNull()), ("aud", NSNull()), ("iss", NSNull()),
            ]
            for (name, value) in changes {
                let token = try stand.accessToken { $0[name] = value is NSNull ? nil : value }
                #expect(try await !accepts(fixture, token), "\(name) \(value)")
            }
        }
    }

    @Test(arguments: [
        ("a b", true), (" ", true), ("~", true), (String(repeating: "x", count: 255), true), ("a\u{7f}", false),
        ("a\u{1f}", false), ("a\n", false), ("é", false),
    ])
    func `a subject is printable ASCII`(subject: String, isAccepted: Bool) async throws {
        try await withProvider { stand, fixture in
            let token = try stand.accessToken { $0["sub"] = subject }
            #expect(try await accepts(fixture, token) == isAccepted)
        }
    }

    @Test func `what does not name a provider is not shown to it`() async throws {
        try await withProvider { stand, fixture in
            let ours = try await fixture.signIn("alice").tokens.accessToken
            let text = try stand.accessToken().reveal()
            let parts = text.split(separator: ".")
            for other in ["x", "a.b.c", "\(parts[0]).\(parts[1])", "\(parts[1]).\(parts[0]).\(parts[2])"] {
                #expect(try await !accepts(fixture, Secret(other)), "\(other)")
            }
            #expect(try await accepts(fixture, ours))
            #expect(stand.server.requests.isEmpty && !fixture.log.text.contains("provider token refused"))
        }
    }

    @Test func `a provider whose audience is not set takes no access token, and ours are taken`() async throws {
        let adjust: (inout OpenIDConnectSettings) -> Void = { $0.audience = nil }
        try await withProvider(adjust) { stand, fixture in
            let ours = try await fixture.signIn("alice").tokens.accessToken
            #expect(try await accepts(fixture, ours))
            let token = try stand.accessToken()
            #expect(try await !accepts(fixture, token))
            #expect(stand.server.requests.isEmpty)
        }
    }

    @Test func `headers that a provider would not write are refused`() async throws {
        try await withProvider { stand, fixture in
            let headers: [[String: Any]] = [
                ["alg": "none"], ["alg": "None"], ["alg": NSNull()], ["alg": "HS256"], ["alg": "ES384"],
                ["alg": "RS256"], ["typ": "JWT"], ["typ": NSNull()], ["crit": ["exp"]], ["kid": "unknown"],
            ]
            for header in headers {
                let token = try stand.accessToken({ _ in }, header)
                #expect(try await !accepts(fixture, token), "\(header)")
            }
        }
    }

    @Test func `a signature by another key, or by the public key as a secret, is refused`() async throws {
        try await withProvider { stand, fixture in
            let other = P256.Signing.PrivateKey()
            let header: [String: Any] = ["alg": "ES256", "kid": "k1", "typ": "at+jwt"]
            let forged = try ProviderStand.token(stand.accessClaims, header) {
                Array(try other.signature(for: $0).rawRepresentation)
            }
            #expect(try await !accepts(fixture, forged))
            let key = SymmetricKey(data: stand.state.withLock { $0.key }.publicKey.rawRepresentation)
            let confused = try ProviderStand.token(stand.accessClaims, header.merging(["alg": "HS256"]) { $1 }) {
                Array(HMAC<SHA256>.authenticationCode(for: $0, using: key))
            }
            #expect(try await !accepts(fixture, confused))
            let jwk = ["jwk": ["kty": "EC", "crv": "P-256"], "jku": "https://evil.example.com/keys"] as [String: Any]
            let brought = try ProviderStand.token(stand.accessClaims, header.merging(jwk) { $1 }) {
                Array(try other.signature(for: $0).rawRepresentation)
            }
            #expect(try await !accepts(fixture, brought))
        }
    }

    @Test func `an ID token opens nothing as a bearer token, and apps' tokens are taken only where configured`()
        async throws
    {
        try await withProvider { stand, fixture in
            let forged = try stand.sign(stand.identityClaims(nonce: "n"), ["typ": "JWT"])
            #expect(try await !accepts(fixture, forged))
            let disguised = try stand.sign(stand.identityClaims(nonce: "n"), ["typ": "at+jwt"])
            #expect(try await !accepts(fixture, disguised))
        }
        let adjust: (inout OpenIDConnectSettings) -> Void = { $0.audience = nil }
        try await withProvider(adjust) { stand, fixture in
            let token = try stand.accessToken()
            #expect(try await !accepts(fixture, token))
            #expect(stand.server.requests.isEmpty)
        }
    }

    @Test func `ID tokens with another nonce, audience or party are refused`() async throws {
        try await withProvider { stand, fixture in
            let changes: [(String, Any?)] = [
                ("nonce", "other"), ("nonce", nil), ("aud", "other"), ("aud", ["portico & co", "other"]),
                ("azp", "other"), ("exp", ProviderStand.now - 1), ("iss", "https://evil.example.com"), ("iat", nil),
            ]
            for (name, value) in changes {
                #expect(await code { _ = try await signIn(stand, fixture) { $0[name] = value } } == .credentialsInvalid)
            }
            _ = try await signIn(stand, fixture) {
                $0["aud"] = ["portico & co", "other"]
                $0["azp"] = "portico & co"
            }
        }
    }

    @Test func `an access token is no ID token`() async throws {
        try await withProvider { stand, fixture in
            #expect(
                await code { _ = try await signIn(stand, fixture, header: ["typ": "at+jwt"]) } == .credentialsInvalid)
        }
    }

    @Test func `RSA signatures are taken, but not by a key of 1024 bits`() async throws {
        for (bits, isTaken) in [(2048, true), (1024, false)] {
            try await withProvider { stand, fixture in
                let key = try _RSA.Signing.PrivateKey(
                    unsafeKeySize: _RSA.Signing.KeySize(bitCount: bits))
                let primitives = try key.publicKey.getKeyPrimitives()
                stand.state.withLock {
                    $0.otherKeys = [
                        [
                            "kty": "RSA", "use": "sig", "kid": "r1", "n": ForgedToken.encode(Array(primitives.modulus)),
                            "e": ForgedToken.encode(Array(primitives.publicExponent)),
                        ]
                    ]
                }
                let token = try ProviderStand.token(
                    stand.accessClaims, ["alg": "RS256", "kid": "r1", "typ": "at+jwt"]
                ) { Array(try key.signature(for: $0, padding: .insecurePKCS1v1_5).rawRepresentation) }
                #expect(try await accepts(fixture, token) == isTaken)
            }
        }
    }

    @Test func `a token that was accepted ends when it says so`() async throws {
        try await withProvider { stand, fixture in
            let token = try stand.accessToken()
            #expect(try await accepts(fixture, token))
            fixture.clock.advance(299)
            #expect(try await accepts(fixture, token))
            fixture.clock.advance(1)
            #expect(try await !accepts(fixture, token))
        }
    }

    private func accepts(_ fixture: IdentityFixture, _ token: Secret) async throws -> Bool {
        try await fixture.identity.authentication(bearer: token) != nil
    }

    private func signIn(
        _ stand: ProviderStand, _ fixture: IdentityFixture, header: [String: Any] = [:],
        _ change: (inout [String: Any]) -> Void = { _ in }
    ) async throws -> SignIn {
        let begun = try await fixture.identity.beginSignIn(with: "idp", returningTo: "/")
        let answer = try stand.authorize(
            begun.location,
            { claims in
                var claims = claims
                change(&claims)
                return claims
            }, header: header)
        let back = BrowserReturn(code: answer.code, state: answer.state, issuer: nil)
        return try await fixture.identity.finishSignIn(
            with: "idp", back, cookie: begun.cookie, from: IdentityFixture.home
        )
        .signIn
    }
}
