import AdapterKit

extension Identity {
    /// Exchanges a name and a password for a session and tokens. The session whose cookie came with the request ends.
    ///
    /// Throws `auth.invalid`, the same in time and text whether the name is unknown, the password wrong or the account
    /// disabled; `auth.throttled` with the seconds to wait; `server.overloaded`.
    public func signIn(
        _ username: String, _ password: Secret, from address: ClientAddress, replacing cookie: Secret? = nil
    ) async throws -> SignIn {
        let proven = try await proof.prove(username, password, from: address)
        return try await begin(proven, from: address, replacing: cookie)
    }

    /// Begins a session and ends the one whose cookie came with the sign-in, whoever's it was: a browser that changes
    /// hands leaves no session behind.
    func begin(
        _ proven: PasswordProof.Proven, from address: ClientAddress, replacing cookie: Secret?
    ) async throws -> SignIn {
        let old = cookie.flatMap { SessionCookie($0) }
        if let old { try await endSession(of: old, otherThan: proven.account.id) }
        return try await signIns.begin(proven, from: address, replacing: old)
    }

    /// A session of the same account ends in the transaction in which the new one begins.
    private func endSession(of cookie: SessionCookie, otherThan account: AccountID) async throws {
        guard let session = try await sessions.session(cookie.id), session.cookie.matches(cookie.secret),
            session.account != account
        else { return }
        try await sessions.end(of: session.account, as: .signedOut, by: .system, detail: "another account signed in") {
            $0.id == session.id
        }
        try await departures.check(session.account)
    }

    /// Exchanges a refresh token for the next pair. Each is good for one exchange; a second one ends the sign-in.
    public func refresh(_ refreshToken: Secret) async throws -> TokenPair {
        try await tokenRefresh.refresh(refreshToken)
    }

    /// Ends the sign-in that the credential belongs to, its cookie and all of its tokens. Does nothing for Basic and API
    /// keys, which belong to none.
    public func signOut(_ authentication: Authentication) async throws {
        guard let session = authentication.session else { return }
        try await sessions.end(of: authentication.account, as: .signedOut, by: authentication.principal) {
            $0.id == session
        }
        try await departures.check(authentication.account)
    }

    /// Ends every sign-in of the account.
    public func signOutEverywhere(_ authentication: Authentication) async throws {
        try await sessions.end(
            of: authentication.account, as: .signedOut, by: authentication.principal, detail: "everywhere")
        try await departures.check(authentication.account)
    }

    /// Sets a new password for whoever knows the old one, and ends every other sign-in of the account. Throws as
    /// ``signIn(_:_:from:replacing:)`` does for the old password, and `request.invalid` for a new one that is none.
    public func changePassword(
        _ authentication: Authentication, old: Secret, new: Secret, from address: ClientAddress
    ) async throws {
        let name = authentication.principal.name
        let proven = try await proof.prove(name, old, from: address)
        guard proven.account.id == authentication.account else { throw IdentityContext.refusal }
        try await passwords.set(
            new, for: authentication.account, by: authentication.principal, keeping: authentication.session)
    }
}
