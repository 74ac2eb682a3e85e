import AdapterKit

extension Identity {
    /// The value of a session cookie. Costs a look-up in memory, mostly.
    public func authentication(sessionCookie value: Secret) async throws -> Authentication? {
        try await verifier.session(value)
    }

    /// An access token of ours, or an API key.
    public func authentication(bearer value: Secret) async throws -> Authentication? {
        value.reveal().hasPrefix(APIKeyCredential.prefix)
            ? try await verifier.apiKey(value) : try await verifier.accessToken(value)
    }

    /// What ``knownAuthentication(_:)`` finds an access token or an API key by.
    public func key(bearer value: Secret) -> CredentialKey {
        verifier.context.cache.key(
            value.reveal().hasPrefix(APIKeyCredential.prefix) ? .apiKey : .accessToken, [value])
    }

    /// What ``knownAuthentication(_:)`` finds the value of a session cookie by.
    public func key(sessionCookie value: Secret) -> CredentialKey {
        verifier.context.cache.key(.sessionCookie, [value])
    }

    /// What is remembered of a credential that was verified, without waiting; nil where it would have to be verified.
    public func knownAuthentication(_ key: CredentialKey) -> Authentication? {
        verifier.context.cache.known(key)
    }

    /// The two halves of HTTP Basic; nil wherever the configuration does not allow it. Throws `auth.throttled` and
    /// `server.overloaded` as a sign-in does.
    public func authentication(
        basic username: String, _ password: Secret, from address: ClientAddress
    ) async throws -> Authentication? {
        do {
            return try await verifier.basic(username, password, from: address)
        } catch let error as PorticoError where error.code == .credentialsInvalid {
            return nil
        }
    }

    /// Returns when a verified credential stops holding before its time, or the account's roles or attributes change: a
    /// live stream that was opened with it ends then, and its client asks again. Returns at once where that has happened
    /// already. Does not watch ``Authentication/expires``. Ends with the task that waits.
    public func revoked(_ authentication: Authentication) async throws {
        try await context.cache.revocations.wait(for: authentication) { try await verifier.holds(authentication) }
    }

    /// The same without a task that waits: `revoked` is called then, from any thread, or before this returns where the
    /// credential does not hold already. The watch is to be ended.
    public func watch(
        _ authentication: Authentication, revoked: @escaping @Sendable () -> Void
    ) async throws -> RevocationWatch {
        let watch = context.cache.revocations.watch(authentication, revoked: revoked)
        do {
            if try await !verifier.holds(authentication) { revoked() }
        } catch {
            watch.end()
            throw error
        }
        return watch
    }

    /// The public keys by which others verify our access tokens (RFC 7517).
    public func jwks() -> WireValue {
        keys.current.publicSet(now: context.clock.now())
    }

    /// A token that a page sends with its writes, bound to the session whose cookie this is. A new text at every call.
    public func csrfToken(forSessionCookie value: Secret) -> Secret {
        csrfToken(for: .session(value))
    }

    /// The same, bound to either.
    public func csrfToken(for tokenBinding: CSRFTokenBinding) -> Secret {
        CSRFToken.issue(for: tokenBindings.secret(of: tokenBinding), context.randomness)
    }

    /// What ``csrfToken(forSessionCookie:)`` is bound to on a page that is shown before there is a session: 256 random
    /// bits in 43 URL-safe characters.
    public func formSecret() -> Secret {
        .random(context.randomness)
    }

    public func isValid(csrfToken token: Secret, forSessionCookie value: Secret) -> Bool {
        isValid(csrfToken: token, for: .session(value))
    }

    public func isValid(csrfToken token: Secret, for tokenBinding: CSRFTokenBinding) -> Bool {
        CSRFToken.isValid(token, for: tokenBindings.secret(of: tokenBinding))
    }
}
