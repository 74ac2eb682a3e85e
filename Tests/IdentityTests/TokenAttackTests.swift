import AdapterKit
import Crypto
import Foundation
import Identity
import Testing

@Suite struct TokenAttackTests {
    let fixture: IdentityFixture
    let token: Secret

    init() async throws {
        fixture = try await IdentityFixture()
        token = try await fixture.signIn().tokens.accessToken
    }

    /// What becomes of a token that is right but for one change, signed with the real key.
    private func verdict(_ change: (inout ForgedToken) -> Void) async throws -> Authentication? {
        var forged = try ForgedToken(like: token)
        change(&forged)
        return try await fixture.identity.authentication(bearer: forged.signed(with: try await fixture.signingKey()))
    }

    @Test func `a token rebuilt without a change is accepted, so the attacks fail for what they change`() async throws {
        #expect(try await verdict { _ in } != nil)
    }

    @Test(arguments: ["none", "None", "NONE", "nOnE", "HS256", "RS256", "ES384", "EdDSA", ""])
    func `another algorithm is refused`(algorithm: String) async throws {
        #expect(try await verdict { $0.header["alg"] = algorithm } == nil)
    }

    @Test func `no algorithm is refused`() async throws {
        #expect(try await verdict { $0.header["alg"] = nil } == nil)
    }

    @Test func `a token without a signature is refused`() async throws {
        var forged = try ForgedToken(like: token)
        forged.header["alg"] = "none"
        #expect(try await fixture.identity.authentication(bearer: forged.signed { _ in [] }) == nil)
        #expect(try await fixture.identity.authentication(bearer: ForgedToken(like: token).signed { _ in [] }) == nil)
    }

    @Test func `a token signed with the public key as an HMAC key is refused`() async throws {
        let key = try await fixture.signingKey().publicKey
        let publicForms = [
            Array(key.rawRepresentation), Array(key.x963Representation), Array(key.pemRepresentation.utf8),
            Array(key.derRepresentation),
        ]
        for bytes in publicForms {
            var forged = try ForgedToken(like: token)
            forged.header["alg"] = "HS256"
            let swapped = try forged.signed {
                Array(HMAC<SHA256>.authenticationCode(for: $0, using: SymmetricKey(data: bytes)))
            }
            #expect(try await fixture.identity.authentication(bearer: swapped) == nil)
        }
    }

    @Test(arguments: ["", "unknown", "00000000000000000000000000000000", "../../dev/null", "' OR 1=1"])
    func `an unknown key id is refused, though another key would fit`(kid: String) async throws {
        #expect(try await verdict { $0.header["kid"] = kid } == nil)
    }

    @Test func `no key id is refused`() async throws {
        #expect(try await verdict { $0.header["kid"] = nil } == nil)
    }

    @Test func `another key's signature is refused, even where the token brings the key along`() async throws {
        let own = P256.Signing.PrivateKey()
        var forged = try ForgedToken(like: token)
        #expect(try await fixture.identity.authentication(bearer: forged.signed(with: own)) == nil)
        let point = Array(own.publicKey.rawRepresentation)
        forged.header["jwk"] = [
            "kty": "EC", "crv": "P-256", "x": ForgedToken.encode(Array(point.prefix(32))),
            "y": ForgedToken.encode(Array(point.suffix(32))),
        ]
        #expect(try await fixture.identity.authentication(bearer: forged.signed(with: own)) == nil)
    }

    @Test(arguments: ["JWT", "at+JWT ", "id_token", "dpop+jwt", ""])
    func `another type is refused`(type: String) async throws {
        #expect(try await verdict { $0.header["typ"] = type } == nil)
    }

    @Test func `no type is refused`() async throws {
        #expect(try await verdict { $0.header["typ"] = nil } == nil)
    }

    @Test func `a critical extension is refused, whatever it is`() async throws {
        let lists: [Any] = [["b64"], ["exp"], [String](), "exp", 1, [1], NSNull()]
        for list in lists { #expect(try await verdict { $0.header["crit"] = list } == nil) }
    }

    @Test func `another issuer or none is refused`() async throws {
        for issuer: Any? in ["elsewhere", "", nil, 1] {
            #expect(try await verdict { $0.claims["iss"] = issuer } == nil)
        }
    }

    @Test func `another audience or none is refused`() async throws {
        let audiences: [Any?] = ["elsewhere", ["elsewhere"], [String](), "", nil, 1, ["portico", 1]]
        for audience in audiences { #expect(try await verdict { $0.claims["aud"] = audience } == nil) }
        #expect(try await verdict { $0.claims["aud"] = ["elsewhere", "portico"] } != nil)
    }

    @Test func `an expired token is refused to the second, and one without an end at all`() async throws {
        fixture.clock.advance(899)
        #expect(try await fixture.identity.authentication(bearer: token) != nil)
        fixture.clock.advance(1)
        #expect(try await fixture.identity.authentication(bearer: token) == nil)
        let ends: [Any?] = [nil, "9999999999", 1e300, -1, true, NSNull()]
        for end in ends { #expect(try await verdict { $0.claims["exp"] = end } == nil) }
    }

    @Test func `a token from the future is refused`() async throws {
        let later = Int(fixture.clock.now().secondsSince1970) + 600
        #expect(try await verdict { $0.claims["nbf"] = later } == nil)
        #expect(try await verdict { $0.claims["iat"] = later } == nil)
    }

    @Test func `a token for another account's session is refused`() async throws {
        let bob = try await fixture.identity.administration.addAccount(
            NewAccount("bob", password: IdentityFixture.password), by: .system)
        #expect(try await verdict { $0.claims["sub"] = bob.id.text } == nil)
        #expect(try await verdict { $0.claims["sid"] = "ffffffffffffffffffffffffffffffff" } == nil)
    }

    @Test func `roles written into a token give nothing`() async throws {
        #expect(try await verdict { $0.claims["roles"] = ["admin"] }?.principal.roles == ["member"])
    }

    @Test(arguments: ["", ".", "..", "...", "a.b", "a.b.c.d", "e30.e30.e30", "\u{0}.\u{0}.\u{0}", "eyJ hbGciOi.e30.AA"])
    func `what is no token is refused`(text: String) async throws {
        #expect(try await fixture.identity.authentication(bearer: Secret(text)) == nil)
    }

    @Test func `every flipped character of a token is refused`() async throws {
        let text = Array(token.reveal().utf8)
        for index in text.indices where text[index] != UInt8(ascii: ".") {
            var changed = text
            changed[index] = changed[index] == UInt8(ascii: "A") ? UInt8(ascii: "Q") : UInt8(ascii: "A")
            let forged = Secret(String(decoding: changed, as: UTF8.self))
            #expect(try await fixture.identity.authentication(bearer: forged) == nil, "position \(index)")
        }
    }

    @Test func `an enormous token is refused unread`() async throws {
        let huge = Secret(token.reveal() + String(repeating: "A", count: 1 << 20))
        #expect(try await fixture.identity.authentication(bearer: huge) == nil)
    }
}

@Suite struct KeyRotationTests {
    @Test func `after a rotation old tokens go on until they end, and new ones have the new key`() async throws {
        let fixture = try await IdentityFixture()
        let old = try await fixture.signIn().tokens.accessToken
        try await fixture.identity.administration.rotateSigningKeys(by: .system)
        let new = try await fixture.signIn().tokens.accessToken
        #expect(try kid(old) != kid(new))
        #expect(published(fixture).sorted() == [try kid(old), try kid(new)].sorted())
        fixture.clock.advance(890)
        #expect(try await fixture.restarted().authentication(bearer: old) != nil)
    }

    @Test func `a key that was replaced disappears when its last token has ended`() async throws {
        let fixture = try await IdentityFixture()
        let old = try await fixture.signIn().tokens.accessToken
        try await fixture.identity.administration.rotateSigningKeys(by: .system)
        fixture.clock.advance(961)
        #expect(!published(fixture).contains(try kid(old)))
        try await fixture.identity.administration.rotateSigningKeys(by: .system)
        #expect(try await fixture.store.inner.all("signingKeys").count == 2)
    }

    @Test func `after a theft the old keys' tokens end at once, and a refresh token still gives new ones`() async throws
    {
        let fixture = try await IdentityFixture()
        let tokens = try await fixture.signIn().tokens
        let stolen = try await fixture.signingKey()
        _ = try await fixture.identity.authentication(bearer: tokens.accessToken)
        try await fixture.identity.administration.rotateSigningKeys(trustingOld: false, by: .system)
        #expect(try await fixture.identity.authentication(bearer: tokens.accessToken) == nil)
        let forged = try ForgedToken(like: tokens.accessToken).signed(with: stolen)
        #expect(try await fixture.identity.authentication(bearer: forged) == nil)
        let next = try await fixture.identity.refresh(tokens.refreshToken)
        #expect(try await fixture.identity.authentication(bearer: next.accessToken) != nil)
    }

    @Test func `a key whose time has come is replaced`() async throws {
        let fixture = try await IdentityFixture()
        let before = published(fixture)
        fixture.clock.advance(90 * 86_400)
        try await fixture.identity.maintain()
        #expect(published(fixture).contains { !before.contains($0) })
    }

    @Test func `the published keys verify a token, and hold nothing private`() async throws {
        let fixture = try await IdentityFixture()
        let parts = try await fixture.signIn().tokens.accessToken.reveal().split(separator: ".").map(String.init)
        let key = try #require(fixture.identity.jwks()["keys"]?.arrayValue?.first)
        #expect(Set(key.dictionaryValue?.keys ?? []) == ["kty", "crv", "use", "alg", "kid", "x", "y"])
        let point = try ["x", "y"].flatMap { try ForgedToken.decode(key[$0]?.stringValue ?? "") }
        let publicKey = try P256.Signing.PublicKey(rawRepresentation: point)
        let signature = try P256.Signing.ECDSASignature(rawRepresentation: ForgedToken.decode(parts[2]))
        #expect(publicKey.isValidSignature(signature, for: Array("\(parts[0]).\(parts[1])".utf8)))
    }

    private func kid(_ token: Secret) throws -> String {
        try #require(try ForgedToken(like: token).header["kid"] as? String)
    }

    private func published(_ fixture: IdentityFixture) -> [String] {
        fixture.identity.jwks()["keys"]?.arrayValue?.compactMap { $0["kid"]?.stringValue } ?? []
    }
}
