import AdapterKit

extension Administration {
    /// The account's sign-ins, oldest first. Not those that have ended.
    public func sessions(of id: AccountID) async throws -> [Session] {
        let now = context.clock.now()
        return try await sessions.sessions(of: id).filter { now < $0.ends }
    }

    /// Ends one sign-in. Throws `record.notFound` where the account has none of this id.
    public func revokeSession(_ session: SessionID, of id: AccountID, by actor: Principal) async throws {
        let count = try await sessions.end(of: id, as: .sessionsRevoked, by: actor, detail: session.text) {
            $0.id == session
        }
        guard count == 1 else { throw PorticoError(.recordNotFound, "There is no such session.") }
    }

    /// Ends every sign-in of the account; tells how many there were.
    @discardableResult
    public func revokeSessions(of id: AccountID, by actor: Principal) async throws -> Int {
        defer { context.cache.revoke(id) }
        return try await sessions.end(of: id, as: .sessionsRevoked, by: actor, detail: "all")
    }
}

extension Administration {
    /// How many API keys an account may have.
    public static let apiKeysPerAccount = 100

    /// The keys of an account, oldest first.
    public func apiKeys(of id: AccountID) async throws -> [APIKey] {
        try await context.records.all(
            .compare("account", .equal, .string(id.text)), order: [SortKey("created")],
            in: IdentityCollections.apiKeys
        ).map(APIKeyRecord.read)
    }

    /// A key that acts as the account, with those of its roles that are named (nil: all) and within `scope`. The
    /// credential is given out here and never again.
    public func createAPIKey(
        for id: AccountID, title: String, roles: Set<RoleName>? = nil, scope: CredentialScope = .everything,
        expires: WireDate? = nil, by actor: Principal
    ) async throws -> (key: APIKey, credential: Secret) {
        guard (1...APIKeyRecord.maximumTitle).contains(title.unicodeScalars.count) else {
            throw PorticoError(
                .requestInvalid, "A title has 1 to \(APIKeyRecord.maximumTitle) characters.", target: "title")
        }
        let credential = APIKeyCredential(id: APIKeyID(context.randomness), secret: .random(context.randomness))
        let key = APIKey(
            id: credential.id, account: id, title: title, roles: roles, scope: scope, created: context.clock.now(),
            expires: expires, secret: SecretDigest(of: credential.secret))
        try await context.writes.write(author: actor.name) {
            _ = try await existing(id)
            guard try await apiKeys(of: id).count < Self.apiKeysPerAccount else {
                throw PorticoError(
                    .requestLimitExceeded, "An account has at most \(Self.apiKeysPerAccount) API keys.")
            }
            return AuditedChange(
                [APIKeyRecord.creation(key)],
                AuditEvent(.apiKeyCreated, actor: actor.id, subject: id.text, detail: key.id.text))
        }
        return (key, credential.value)
    }

    /// Throws `record.notFound` where the account has no such key.
    public func revokeAPIKey(_ key: APIKeyID, of id: AccountID, by actor: Principal) async throws {
        defer { context.cache.revoke(id) { $0.apiKey == key } }
        try await context.writes.write(author: actor.name) {
            guard try await apiKeys(of: id).contains(where: { $0.id == key }) else {
                throw PorticoError(.recordNotFound, "There is no such API key.")
            }
            return AuditedChange(
                [RecordChange(IdentityCollections.apiKeys, .delete(key.recordID))],
                AuditEvent(.apiKeyRevoked, actor: actor.id, subject: id.text, detail: key.text))
        }
    }
}
