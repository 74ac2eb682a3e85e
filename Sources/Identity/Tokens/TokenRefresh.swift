import AdapterKit

/// Turns a refresh token into the next pair (RFC 6749, section 6), once.
///
/// Who shows a token that has been used already is either a thief or the owner whose token was stolen, and nobody can
/// tell which: the whole sign-in ends (RFC 9700, section 4.14.2). Of many that show one token at the same time the
/// store's condition lets one win, and the others end the family, the winner's new tokens included.
struct TokenRefresh: Sendable {
    /// How often a record that changed for another reason, such as a note of its last use, is read again.
    static let maximumAttempts = 8

    let context: IdentityContext
    let sessions: Sessions
    let tokens: AccessTokens
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
        let settings = context.configuration.tokens
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
