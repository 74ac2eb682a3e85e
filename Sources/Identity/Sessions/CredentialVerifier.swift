import AdapterKit

/// From a credential to whom it speaks for, through the cache. Nil: no valid credential.
struct CredentialVerifier: Sendable {
    let context: IdentityContext
    let sessions: SessionDirectory
    let keys: SigningKeys
    let proof: PasswordProof
    let providers: CurrentProviders

    func session(_ value: Secret) async throws -> Authentication? {
        guard value.reveal().utf8.count <= SessionCookie.length else { return nil }
        return try await context.cache.authentication(.sessionCookie, [value]) {
            let now = context.clock.now()
            guard let cookie = SessionCookie(value), let session = try await sessions.session(cookie.id),
                session.cookie.matches(cookie.secret),
                now < session.expires, now - session.lastUsed < context.configuration.sessions.idle,
                let account = try await context.accounts.active(session.account)
            else { return nil }
            let authentication = Authentication(
                account, account.principal(), method: .sessionCookie, session: session.id, expires: session.expires)
            return (authentication, until: trustEnd(until: session.expires, now))
        }
    }

    /// One of ours, or one that a provider issued for us.
    func accessToken(_ value: Secret) async throws -> Authentication? {
        if let provider = providers.value.openIDConnect.first(where: { $0.mayHaveIssued(value) }) {
            return try await providerToken(value, provider)
        }
        guard value.reveal().utf8.count <= AccessTokenInspector.maximumBytes else { return nil }
        return try await context.cache.authentication(.accessToken, [value]) {
            let now = context.clock.now()
            guard let claims = await claims(value, now: now), let id = SessionID(claims.sid),
                let session = try await sessions.session(id), session.account.text == claims.sub,
                let account = try await context.accounts.active(session.account)
            else { return nil }
            let expires = WireDate(secondsSince1970: Double(claims.exp))
            let authentication = Authentication(
                account, account.principal(), method: .accessToken, session: session.id, expires: expires)
            return (authentication, until: trustEnd(until: expires, now))
        }
    }

    private func providerToken(_ value: Secret, _ provider: OpenIDConnectProvider) async throws -> Authentication? {
        try await context.cache.authentication(.accessToken, [value]) {
            guard case .accepted(let proven) = try await provider.verify(.bearer(value)),
                let account = try await context.accounts.active(proven.id)
            else { return nil }
            try await context.verifications.record([
                AuditEvent(.signInAccepted, actor: account.id.text, detail: "bearer \(provider.name)")
            ])
            let authentication = Authentication(
                account, account.principal(), method: .accessToken, expires: proven.evidenceEnds)
            return (authentication, until: trustEnd(until: proven.evidenceEnds, context.clock.now()))
        }
    }

    /// Costs a hash and an audit entry the first time, then nothing while it is remembered.
    /// While the store is full the entry is postponed.
    func basic(_ username: String, _ password: Secret, from address: ClientAddress) async throws -> Authentication? {
        guard context.configuration.basic.enabled else { return nil }
        let credential = [Secret(AccountName.fold(username)), password]
        return try await context.cache.authentication(.basic, credential) {
            let proven = try await proof.prove(username, password, from: address)
            guard let account = try await context.accounts.active(proven.account.id),
                account.credentialVersion == proven.account.credentialVersion
            else { return nil }
            try await context.verifications.record([
                AuditEvent(
                    .signInAccepted, actor: account.id.text, address: address.description, detail: "basic")
            ])
            let authentication = Authentication(account, account.principal(), method: .basic, expires: nil)
            return (authentication, until: context.clock.now() + context.configuration.basic.rememberedFor)
        }
    }

    func apiKey(_ value: Secret) async throws -> Authentication? {
        guard let credential = APIKeyCredential(value) else { return nil }
        return try await context.cache.authentication(.apiKey, [value]) {
            let now = context.clock.now()
            guard let key = try await key(credential.id), key.secret.matches(credential.secret),
                key.expires.map({ now < $0 }) ?? true,
                let account = try await context.accounts.active(key.account)
            else { return nil }
            let authentication = Authentication(
                account, account.principal(.program, roles: key.roles), method: .apiKey, apiKey: key.id,
                scope: key.scope, expires: key.expires)
            return (authentication, until: trustEnd(until: key.expires, now))
        }
    }

    /// Whether what was verified is still true, by the store.
    func holds(_ authentication: Authentication) async throws -> Bool {
        guard let account = try await context.accounts.active(authentication.account) else { return false }
        if let id = authentication.apiKey {
            let key = try await key(id)
            return key.map { account.principal(.program, roles: $0.roles) } == authentication.principal
        }
        guard account.principal() == authentication.principal else { return false }
        if let session = authentication.session { return try await sessions.session(session) != nil }
        return account.credentialVersion == authentication.credentialVersion
    }

    private func key(_ id: APIKeyID) async throws -> APIKey? {
        try await context.records.record(id.recordID, in: IdentityCollections.apiKeys).map(APIKeyRecord.read)
    }

    /// Nothing is believed for longer than this without being read again: a net under the revocations, for changes that
    /// another process made.
    private func trustEnd(until end: WireDate?, _ now: WireDate) -> WireDate {
        let latest = now + context.configuration.verifiedFor
        return end.map { min($0, latest) } ?? latest
    }

    private func claims(_ token: Secret, now: WireDate) async -> AccessTokenClaims? {
        do {
            return try await context.tokens.verify(token, keys: keys.current, now: now)
        } catch {
            context.log(.debug, "access token refused", ["reason": .text(error.rawValue)])
            return nil
        }
    }
}
