import AdapterKit
import JWTKit

/// Checks a provider's token strictly, all but its signature (OpenID Connect Core 1.0, section 3.1.3.7; RFC 9068,
/// section 4; RFC 8725).
struct ProviderTokenInspector: Sendable {
    enum Purpose: Sendable {
        /// An ID token for us, from the code that this nonce went with.
        case identity(nonce: Secret)
        /// An access token for us.
        case access
    }

    let settings: OpenIDConnectSettings

    /// The header, checked, with what it names the key by.
    func header(_ token: String, _ purpose: Purpose) throws(TokenRefusal) -> (
        algorithm: OpenIDConnectSettings.Algorithm, key: String?, claims: ProviderClaims
    ) {
        guard token.utf8.count <= OpenIDConnectSettings.maximumToken else { throw .tooLarge }
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, parts.allSatisfy({ !$0.isEmpty && Base64URL.isWellFormed($0) }),
            let parsed = try? DefaultJWTParser().parse(Array(token.utf8), as: ProviderClaims.self)
        else { throw .malformed }
        let header = parsed.header
        guard let algorithm = header.alg.flatMap(OpenIDConnectSettings.Algorithm.init(rawValue:)),
            settings.algorithms.contains(algorithm)
        else { throw .algorithm }
        guard isType(header.typ, purpose) else { throw .type }
        guard header.fields["crit"] == nil else { throw .critical }
        return (algorithm, header.kid, parsed.payload)
    }

    func check(_ claims: ProviderClaims, _ purpose: Purpose, now: WireDate) throws(TokenRefusal) {
        guard claims.text("iss") == settings.issuerText else { throw .issuer }
        try checkAudience(claims, purpose)
        try checkTimes(claims, now: now.secondsSince1970)
        guard let subject = claims.text("sub"), (1...ExternalIdentity.maximumSubject).contains(subject.utf8.count),
            subject.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7f })
        else { throw .malformed }
        if case .identity(let nonce) = purpose {
            guard let given = claims.text("nonce"), SecretDigest(of: nonce).matches(Secret(given)) else { throw .nonce }
        }
    }

    /// An ID token has the type `JWT` or none; an access token one that no ID token has.
    private func isType(_ type: String?, _ purpose: Purpose) -> Bool {
        switch purpose {
        case .identity: type == nil || type?.lowercased() == "jwt"
        case .access: type.map { settings.tokenTypes.contains($0.lowercased()) } ?? false
        }
    }

    private func checkAudience(_ claims: ProviderClaims, _ purpose: Purpose) throws(TokenRefusal) {
        guard let audience = claims.all["aud"]?.texts, !audience.isEmpty else { throw .audience }
        switch purpose {
        case .access:
            guard let ours = settings.audience, audience.contains(ours) else { throw .audience }
        case .identity:
            guard audience.contains(settings.clientID) else { throw .audience }
            let party = claims.text("azp")
            guard party == settings.clientID || (!claims.has("azp") && audience.count == 1) else { throw .audience }
        }
    }

    private func checkTimes(_ claims: ProviderClaims, now: Double) throws(TokenRefusal) {
        guard let ends = claims.number("exp"), now < ends else { throw .expired }
        guard let issued = claims.number("iat"), issued <= now + settings.clockSkew else { throw .notYetValid }
        if claims.has("nbf") {
            guard let begins = claims.number("nbf"), begins <= now + settings.clockSkew else { throw .notYetValid }
        }
    }
}
