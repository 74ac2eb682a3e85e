import AdapterKit
import JWTKit

/// Signs in by what an identity provider says: a code that a browser brings back, or a token that an app has from it.
package struct OpenIDConnectProvider: SignInProvider {
    package var name: ProviderName { settings.name }
    let settings: OpenIDConnectSettings
    let context: IdentityContext
    let documents: ProviderDocuments
    let exchange: CodeExchange
    let accounts: ExternalAccounts

    init(_ settings: OpenIDConnectSettings, _ upstream: any UpstreamClient, _ context: IdentityContext) {
        self.settings = settings
        self.context = context
        documents = ProviderDocuments(settings, upstream, clock: context.clock)
        exchange = CodeExchange(settings: settings, upstream: upstream)
        accounts = ExternalAccounts(context: context)
    }

    package func verify(_ evidence: SignInEvidence) async throws -> SignInVerdict {
        switch evidence {
        case .password: return .refused
        case .bearer(let token):
            guard settings.audience != nil else { return .refused }
            return try await verdict(on: token, .access)
        case .authorizationCode(let code, let verifier, let nonce):
            let configuration = try await documents.configuration()
            guard let token = try await exchange.identityToken(for: code, verifier: verifier, at: configuration) else {
                return .refused
            }
            return try await verdict(on: token, .identity(nonce: nonce))
        }
    }

    private func verdict(on token: Secret, _ purpose: ProviderTokenInspector.Purpose) async throws -> SignInVerdict {
        do {
            let claims = try await claims(token.reveal(), purpose)
            guard let identity = identity(claims), let account = try await accounts.account(for: identity) else {
                return .refused
            }
            let ends = claims.number("exp").map { WireDate(secondsSince1970: $0) }
            return .accepted(ProvenAccount(account, evidenceEnds: ends))
        } catch let refusal as TokenRefusal {
            context.log.info(
                "provider token refused", ["provider": .text(name.text), "reason": .text(refusal.rawValue)])
            return .refused
        }
    }

    /// Everything that costs nothing is checked before a key is looked for, so that a token made up elsewhere causes no
    /// fetch unless it names this issuer.
    private func claims(_ token: String, _ purpose: ProviderTokenInspector.Purpose) async throws -> ProviderClaims {
        let inspector = ProviderTokenInspector(settings: settings)
        let (algorithm, id, claims) = try inspector.header(token, purpose)
        try inspector.check(claims, purpose, now: context.clock.now())
        guard let key = try await documents.key(id, algorithm) else { throw TokenRefusal.keyUnknown }
        guard let verifier = try? await key.verifier(algorithm),
            let verified = try? await verifier.verify(token, as: ProviderClaims.self), verified == claims
        else { throw TokenRefusal.signature }
        return claims
    }

    private func identity(_ claims: ProviderClaims) -> ExternalIdentity? {
        guard let subject = claims.text("sub"), let issued = claims.number("iat"),
            let roles = settings.roles.roles(of: claims.all.at(path: settings.groupsClaim)?.texts ?? [])
        else { return nil }
        let named = claims.text(settings.nameClaim) ?? claims.text("preferred_username") ?? "user"
        return ExternalIdentity(
            provider: name, subject: subject, name: named, displayName: claims.text("name") ?? named, roles: roles,
            asOf: WireDate(secondsSince1970: issued))
    }
}

extension OpenIDConnectProvider {
    /// Whether a bearer token says that it is this provider's. Decides who is asked, and nothing else.
    func mayHaveIssued(_ token: Secret) -> Bool {
        guard settings.audience != nil, token.reveal().utf8.count <= OpenIDConnectSettings.maximumToken,
            let parsed = try? DefaultJWTParser().parse(Array(token.reveal().utf8), as: ProviderClaims.self)
        else { return false }
        return parsed.payload.text("iss") == settings.issuerText
    }
}
