import AdapterKit

/// What a successful sign-in gives. Each secret is shown once and kept nowhere.
public struct SignIn: Sendable {
    public let authentication: Authentication
    /// The value of the session cookie: letters, digits, `-`, `_` and `.`.
    public let cookie: Secret
    /// When the cookie ends at the latest.
    public let cookieExpires: WireDate
    public let tokens: TokenPair
}

/// An access token and the refresh token that gives the next one.
public struct TokenPair: Sendable {
    public let accessToken: Secret
    public let refreshToken: Secret
    /// Seconds until the access token ends.
    public let expiresIn: Int
}

/// Begins sessions.
struct SignIns: Sendable {
    let context: IdentityContext
    let sessions: SessionDirectory
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
    func begin(
        _ proven: PasswordProof.Proven, from address: ClientAddress, by agent: ClientAgent?,
        replacing old: SessionCookie?
    ) async throws -> SignIn {
        let (secrets, configuration) = (Secrets(context.randomness), context.configuration)
        let tokens = AccessTokens(settings: configuration.tokens, randomness: context.randomness)
        let session = session(proven, secrets, from: address, by: agent, configuration)
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
                expiresIn: Int(configuration.tokens.accessLifetime.inSeconds)))
    }

    private func session(
        _ proven: PasswordProof.Proven, _ secrets: Secrets, from address: ClientAddress,
        by agent: ClientAgent?, _ configuration: IdentityConfiguration
    ) -> Session {
        let now = context.clock.now()
        return Session(
            id: secrets.cookie.id, account: proven.account.id, created: now, lastUsed: now,
            address: address.description, agent: agent, provider: proven.provider,
            expires: now + configuration.sessions.lifetime,
            refreshExpires: now + configuration.tokens.refreshLifetime,
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

/// Turns a refresh token into the next pair (RFC 6749, section 6), once.
///
/// A token that has been used already comes either from a thief or from the owner whose token was stolen. The two
/// cannot be distinguished: the whole sign-in ends (RFC 9700, section 4.14.2). Of many that show one token at the same time the
/// store's condition lets one win, and the others end the family, the winner's new tokens included.
struct TokenRefresh: Sendable {
    /// How often a record that changed for another reason, such as a note of its last use, is read again.
    static let maximumAttempts = 8

    let context: IdentityContext
    let sessions: SessionDirectory
    let keys: SigningKeys

    /// Throws `auth.invalid`, whatever is wrong with the token.
    func refresh(_ value: Secret) async throws -> TokenPair {
        guard let token = RefreshToken(value) else { throw IdentityContext.refusal }
        for _ in 0..<Self.maximumAttempts {
            let (session, account) = try await check(token)
            if let pair = try await rotate(session, of: account, token) { return pair }
        }
        throw PorticoError(.overloaded, "Too many changes at once.", retryAfter: 1)
    }

    private func check(_ token: RefreshToken) async throws -> (Session, Account) {
        guard let session = try await sessions.session(token.id), session.family.matches(token.family),
            context.clock.now() < session.refreshExpires
        else { throw IdentityContext.refusal }
        guard session.refresh.matches(token.secret) else {
            try await end(session)
            throw IdentityContext.refusal
        }
        guard let account = try await context.accounts.active(session.account) else { throw IdentityContext.refusal }
        return (session, account)
    }

    /// Nil where the record has changed since it was read.
    private func rotate(_ session: Session, of account: Account, _ old: RefreshToken) async throws -> TokenPair? {
        let now = context.clock.now()
        let tokens = context.tokens
        let settings = tokens.settings
        let next = RefreshToken(id: old.id, family: old.family, secret: .random(context.randomness))
        let expires = min(now + settings.refreshLifetime, session.created + settings.familyLifetime)
        let change = SessionRecord.rotation(session, to: SecretDigest(of: next.secret), until: expires, at: now)
        do {
            try await context.records.write([change], author: account.name.text)
        } catch let error as PorticoError where error.code == .preconditionFailed || error.code == .recordNotFound {
            return nil
        }
        return TokenPair(
            accessToken: try await tokens.issue(for: account, session: session.id, with: keys.signing(), at: now),
            refreshToken: next.value, expiresIn: Int(settings.accessLifetime.inSeconds))
    }

    private func end(_ session: Session) async throws {
        context.log.warning("refresh token reused, sign-in ended", ["session": .text(session.id.text)])
        try await sessions.end(of: session.account, as: .refreshTokenReused, by: .system, detail: session.id.text) {
            $0.id == session.id
        }
    }
}
