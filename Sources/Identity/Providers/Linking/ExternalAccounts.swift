import AdapterKit

/// From somebody of another system to the account here: the one that was made when that somebody first came.
///
/// An account is never taken over by a name: a local `alice` and a portal's `alice` are two. docs/decisions/0092.
struct ExternalAccounts: Sendable {
    /// How often a link that others change at the same time is read again.
    private static let maximumAttempts = 8

    let context: IdentityContext

    /// Nil where the account was disabled here, whatever the other system says.
    func account(for identity: ExternalIdentity) async throws -> Account? {
        guard !identity.subject.isEmpty, identity.subject.unicodeScalars.count <= ExternalIdentity.maximumSubject else {
            return nil
        }
        let digest = IdentityLink.digest(identity.provider, identity.subject)
        for _ in 0..<Self.maximumAttempts {
            guard let link = try await link(digest) else { return try await create(identity, digest) }
            guard let account = try await context.accounts.active(link.account) else { return nil }
            guard identity.asOf > link.asOf else { return account }
            if isChanged(account, identity) { return try await update(link, identity) }
            if try await advance(link, to: identity.asOf) { return account }
        }
        throw PorticoError(.overloaded, "Too many changes at once.", retryAfter: 1)
    }

    /// Records that the provider has confirmed the account as it is, so that an older token cannot bring back what it
    /// said before that. No audit entry: nothing of the account changes. False where the link has changed meanwhile.
    private func advance(_ link: IdentityLink, to asOf: WireDate) async throws -> Bool {
        do {
            try await context.records.write([IdentityLinkRecord.update(link, asOf: asOf)], author: "system")
            return true
        } catch let error as PorticoError where [.preconditionFailed, .recordNotFound].contains(error.code) {
            return false
        }
    }

    private func link(_ digest: String) async throws -> IdentityLink? {
        try await context.records.record(RecordID(unchecked: digest), in: IdentityCollections.links)
            .map(IdentityLinkRecord.read)
    }

    private func isChanged(_ account: Account, _ identity: ExternalIdentity) -> Bool {
        account.roles != identity.roles || account.displayName != displayName(identity, account.name)
    }

    private func displayName(_ identity: ExternalIdentity, _ name: AccountName) -> String {
        let given = identity.displayName.map {
            String($0.replacedForEveryFormat.unicodeScalars.prefix(AccountRecord.maximumDisplayName))
        }
        return given.flatMap { $0.isEmpty ? nil : $0 } ?? name.text
    }

    /// Two first sign-ins at once make one account: the plan is made in its turn.
    private func create(_ identity: ExternalIdentity, _ digest: String) async throws -> Account? {
        let id = AccountID(context.randomness)
        let known = try await context.writes.write(author: "system") { () -> AuditedChange<AccountID> in
            if let link = try await link(digest) { return AuditedChange([], [], result: link.account) }
            let name = try await freeName(identity.accountNames(digest))
            let new = NewAccount(name, displayName: displayName(identity, name), roles: identity.roles, password: nil)
            let event = AuditEvent(
                .accountAdded, actor: "system", subject: id.text,
                detail: "provider \(identity.provider), roles \(AccountLimits.text(identity.roles))")
            return AuditedChange(
                [
                    AccountRecord.creation(new, id: id, password: nil, at: context.clock.now()),
                    IdentityLinkRecord.creation(identity, digest: digest, account: id),
                ], [event], result: id)
        }
        return try await context.accounts.active(known)
    }

    private func freeName(_ names: [AccountName]) async throws -> AccountName {
        for name in names where try await context.accounts.account(named: name) == nil { return name }
        throw PorticoError(.recordExists, "There is no free name for the account.")
    }

    private func update(_ link: IdentityLink, _ identity: ExternalIdentity) async throws -> Account? {
        defer { context.cache.revoke(link.account) }
        try await context.writes.write(author: "system") { () -> AuditedChange<Void> in
            guard let link = try await self.link(link.id.text),
                let account = try await context.accounts.active(link.account), identity.asOf > link.asOf,
                isChanged(account, identity)
            else { return AuditedChange([], [], result: ()) }
            let fields: WireDictionary = [
                "roles": .names(identity.roles), "displayName": .string(displayName(identity, account.name)),
            ]
            let event = AuditEvent(
                .accountChanged, actor: "system", subject: account.id.text,
                detail: "provider \(identity.provider), roles \(AccountLimits.text(identity.roles))")
            return AuditedChange(
                [AccountRecord.update(account, fields), IdentityLinkRecord.update(link, asOf: identity.asOf)], [event],
                result: ())
        }
        return try await context.accounts.active(link.account)
    }
}
