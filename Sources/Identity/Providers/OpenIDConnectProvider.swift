import AdapterKit
import Foundation
import JWTKit

/// Signs in by what an identity provider says: a code that a browser brings back, or a token that an app has from it.
package struct OpenIDConnectProvider: SignInProvider {
    package var name: ProviderName { settings.name }
    let settings: OpenIDConnectSettings
    let context: IdentityContext
    let documents: ProviderDocuments
    let exchange: CodeExchange
    let accounts: ExternalAccounts

    init(_ settings: OpenIDConnectSettings, _ upstream: any Upstream, _ context: IdentityContext) {
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

/// An identity provider that speaks OpenID Connect (OpenID Connect Core 1.0).
public struct OpenIDConnectSettings: Sendable {
    /// Signature algorithms that can be allowed. Nothing symmetric: a public key must never be taken for a secret.
    public enum Algorithm: String, Sendable, CaseIterable {
        case rs256 = "RS256"
        case ps256 = "PS256"
        case es256 = "ES256"
        case es384 = "ES384"
    }

    public var name: ProviderName
    /// The `iss` of its tokens, letter by letter; its configuration lies below it.
    public var issuer: UpstreamAddress
    public var issuerText: String
    public var clientID: String
    /// Nil for a client that has none and relies on PKCE.
    public var clientSecret: Secret?
    /// This gateway's own address that the browser is sent back to, as registered with the provider.
    public var callback: UpstreamAddress
    public var scopes = ["openid", "profile"]
    public var algorithms: Set<Algorithm> = [.rs256, .es256]
    /// Which claim names the person, for show.
    public var nameClaim = "preferred_username"
    /// Which claim lists the person's groups; dots lead into objects.
    public var groupsClaim = "groups"
    public var roles = RoleMapping()
    /// The `aud` of access tokens for this gateway; nil: apps' tokens are not taken.
    public var audience: String?
    /// The `typ` that an access token must have (RFC 9068, section 2.1).
    public var tokenTypes: Set<String> = ["at+jwt", "application/at+jwt"]
    /// By how much its clock and ours may differ.
    public var clockSkew = Duration.seconds(60)
    /// The time for which its configuration and keys are believed without being fetched again.
    public var refresh = Duration.seconds(3600)
    /// The least time between two fetches because of an unknown key.
    public var refetch = Duration.seconds(60)

    /// Nil where the issuer is no address.
    public init?(name: ProviderName, issuer: String, clientID: String, callback: UpstreamAddress) {
        guard let address = UpstreamAddress(issuer), !address.target.contains("?") else { return nil }
        self.name = name
        self.issuer = address
        issuerText = issuer
        self.clientID = clientID
        self.callback = callback
    }

    static let maximumToken = 16 << 10
    static let maximumCode = 4096
    /// Usable keys of a provider; further ones are left out.
    static let maximumKeys = 100
    /// The provider's configuration or its keys, in bytes.
    static let maximumDocument = 256 << 10
    /// Values in one of them, about.
    static let maximumValues = 5000
    /// The longest stay of a browser at the provider's page.
    static let maximumStay = Duration.seconds(600)
}

/// A code for the ID token that it stands for (RFC 6749, section 4.1.3, with PKCE, RFC 7636).
struct CodeExchange: Sendable {
    let settings: OpenIDConnectSettings
    let upstream: any Upstream

    /// Nil where the provider refuses the code. Throws where it says neither yes nor no.
    func identityToken(for code: Secret, verifier: Secret, at configuration: ProviderConfiguration) async throws
        -> Secret?
    {
        guard (1...OpenIDConnectSettings.maximumCode).contains(code.reveal().utf8.count) else { return nil }
        let response: UpstreamResponse
        do throws(UpstreamFailure) {
            response = try await upstream.send(request(code, verifier, configuration))
        } catch {
            throw error.asError
        }
        switch response.status {
        case 200: return ClaimValue(json: response.body)?["id_token"]?.text.map { Secret($0) }
        // `invalid_client` is our own misconfiguration, not the person's fault.
        case 400 where ClaimValue(json: response.body)?["error"]?.text == "invalid_grant": return nil
        default:
            throw UpstreamFailure(
                .broken, of: upstream.name, detail: "the token endpoint answered \(response.status)"
            ).asError
        }
    }

    /// RFC 6749, section 2.3.1: both halves are escaped as in a form first.
    private func basic(_ secret: Secret) -> String {
        let pair = FormFields.escape(settings.clientID) + ":" + FormFields.escape(secret.reveal())
        return "Basic " + Data(pair.utf8).base64EncodedString()
    }

    private func request(_ code: Secret, _ verifier: Secret, _ configuration: ProviderConfiguration) -> UpstreamRequest
    {
        var form = [
            ("grant_type", "authorization_code"), ("code", code.reveal()),
            ("redirect_uri", settings.callback.description), ("code_verifier", verifier.reveal()),
        ]
        let usesBasic = settings.clientSecret != nil && configuration.takesBasic
        if !usesBasic { form.append(("client_id", settings.clientID)) }
        if let secret = settings.clientSecret, !usesBasic { form.append(("client_secret", secret.reveal())) }
        var request = UpstreamRequest(
            posting: FormFields(form.map { (name: $0.0, value: $0.1) }), to: configuration.token)
        request.fields["Accept"] = "application/json"
        if usesBasic, let secret = settings.clientSecret {
            request.fields["Authorization"] = basic(secret)
        }
        return request
    }
}
