import AdapterKit

/// Begins sessions.
struct SignIns: Sendable {
    let context: IdentityContext
    let sessions: Sessions
    let tokens: AccessTokens
    let keys: SigningKeys

    /// The secrets of a session that begins.
    private struct Secrets {
        let cookie: SessionCookie
        let refresh: RefreshToken

        init(_ randomness: any Randomness) {
            let id = SessionID(randomness)
            cookie = SessionCookie(id: id, secret: .random(randomness))
            refresh = RefreshToken(id: id, family: .random(randomness), secret: .random(randomness))
        }
    }

    /// Begins a session for an account that has just been proven, and ends the account's session whose cookie came with
    /// the sign-in. Throws `auth.invalid` where the account's credentials changed
    /// since the proof.
    func begin(_ proven: PasswordProof.Proven, from address: ClientAddress, replacing old: SessionCookie?) async throws
        -> SignIn
    {
        let secrets = Secrets(context.randomness)
        let session = session(proven, secrets, from: address)
        let (account, ended) = try await context.writes.write(author: proven.account.id.text) {
            try await plan(session, proven, replacing: old)
        }
        sessions.revoke(ended, of: account.id)
        let accessToken = try await tokens.issue(
            for: account, session: session.id, with: keys.signing(), at: session.created)
        return SignIn(
            authentication: Authentication(
                account, account.principal(), method: .sessionCookie, session: session.id, expires: session.expires),
            cookie: secrets.cookie.value, cookieExpires: session.expires,
            tokens: TokenPair(
                accessToken: accessToken, refreshToken: secrets.refresh.value,
                expiresIn: Int(context.configuration.tokens.accessLifetime.inSeconds)))
    }

    private func session(_ proven: PasswordProof.Proven, _ secrets: Secrets, from address: ClientAddress) -> Session {
        let now = context.clock.now()
        return Session(
            id: secrets.cookie.id, account: proven.account.id, created: now, lastUsed: now,
            address: address.description, provider: proven.provider,
            expires: now + context.configuration.sessions.lifetime,
            refreshExpires: now + context.configuration.tokens.refreshLifetime,
            cookie: SecretDigest(of: secrets.cookie.secret), family: SecretDigest(of: secrets.refresh.family),
            refresh: SecretDigest(of: secrets.refresh.secret), revision: Revision(0))
    }

    private func plan(_ session: Session, _ proven: PasswordProof.Proven, replacing old: SessionCookie?) async throws
        -> AuditedChange<(Account, [SessionID])>
    {
        guard let account = try await context.accounts.active(proven.account.id),
            account.credentialVersion == proven.account.credentialVersion
        else { throw IdentityContext.refusal }
        let ended = try await surplus(of: account.id, replaced: old)
        let changes = [
            AccountRecord.update(account, ["lastSignIn": .date(session.created)]), SessionRecord.creation(session),
        ]
        let event = AuditEvent(
            .signInAccepted, actor: account.id.text, subject: session.id.text, address: session.address,
            detail: session.provider.text)
        return AuditedChange(ended.map(SessionRecord.deletion) + changes, [event], result: (account, ended))
    }

    /// What ends so that the new session has room: the replaced one, and the oldest beyond the limit.
    private func surplus(of account: AccountID, replaced old: SessionCookie?) async throws -> [SessionID] {
        let open = try await sessions.sessions(of: account)
        // Cannot trap: an equal id was found.
        let replaced = open.filter { $0.id == old?.id && $0.cookie.matches(old!.secret) }.map(\.id)
        let others = open.map(\.id).filter { !replaced.contains($0) }
        return replaced + others.prefix(max(0, others.count - context.configuration.sessions.perAccount + 1))
    }
}
