import AdapterKit
import Crypto

/// Maps an identity of an external provider to the account that was created at its first sign-in.
///
/// An account is never linked by its name: a local `alice` and a portal's `alice` are two accounts.
/// docs/decisions/0092.
struct ExternalAccounts: Sendable {
    /// Times that a link which others change at the same time is read again.
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

/// A person's identity at an external provider.
struct ExternalIdentity: Sendable, Equatable {
    static let maximumSubject = 255

    let provider: ProviderName
    /// The identifier that the system never gives to another account.
    let subject: String
    /// The provider's name of the person; for show, and may change.
    let name: String
    let displayName: String?
    let roles: Set<RoleName>
    /// When it reported so. What is older than what is known changes nothing.
    let asOf: WireDate
}

extension ExternalIdentity {
    /// Names for a new account, the nicest first. The provider's name is always part of them, and the last one
    /// cannot have been taken on purpose.
    func accountNames(_ digest: String) -> [AccountName] {
        let allowed = name.unicodeScalars.filter { $0.isASCII && AccountName.isValid("a\($0)") }
        let stem = String(String.UnicodeScalarView(allowed.prefix(16))).trimmingPrefix { ".-_@+".contains($0) }
        let plain = stem.isEmpty ? "user" : String(stem)
        return [
            "\(plain)@\(provider)", "\(plain)+\(digest.prefix(6))@\(provider)", "\(digest.prefix(20))@\(provider)",
        ].compactMap { AccountName($0) }
    }
}

/// The link of an external identity to an account. Found by a digest of provider and subject, never by a name.
struct IdentityLink: Sendable {
    let id: RecordID
    let account: AccountID
    /// When the provider last reported the account's roles.
    let asOf: WireDate
    let revision: Revision

    /// The provider's name holds no colon, so no two pairs have one text.
    static func digest(_ provider: ProviderName, _ subject: String) -> String {
        Hexadecimal.text(SHA256.hash(data: Array("\(provider.text):\(subject)".utf8)).prefix(16))
    }
}

enum IdentityLinkRecord {
    static let entity = IdentityCollections.entity(
        IdentityCollections.links, summary: "Who of other systems has which account.",
        fields: [
            Field("provider", .string(maximumLength: 40), isRequired: true),
            Field("subject", .string(maximumLength: ExternalIdentity.maximumSubject), isRequired: true),
            Field("account", .string(maximumLength: 32), isRequired: true),
            Field("asOf", .date, isRequired: true),
        ], indexes: [Index(["account"])])

    static func read(_ record: Record) throws -> IdentityLink {
        let reader = RecordReader(record)
        return IdentityLink(
            id: record.id, account: try reader.name("account"), asOf: try reader.date("asOf"),
            revision: record.revision)
    }

    static func creation(_ identity: ExternalIdentity, digest: String, account: AccountID) -> RecordChange {
        let fields: WireDictionary = [
            "provider": .string(identity.provider.text), "subject": .string(identity.subject),
            "account": .string(account.text), "asOf": .date(identity.asOf),
        ]
        return RecordChange(IdentityCollections.links, .create(RecordID(unchecked: digest), fields), if: .absent)
    }

    static func update(_ link: IdentityLink, asOf: WireDate) -> RecordChange {
        RecordChange(IdentityCollections.links, .update(link.id, ["asOf": .date(asOf)]), if: .revision(link.revision))
    }
}

/// The roles of an external identity.
public struct RoleMapping: Sendable, Equatable {
    /// Roles of every identity of the provider.
    public var defaultRoles: Set<RoleName> = []
    /// The roles of the provider's groups; groups that are not named give nothing.
    public var groups: [String: Set<RoleName>] = [:]
    /// Whether an account without any role is refused.
    public var isRequired = false

    public init() {}

    /// Nil: refused.
    func roles(of groups: [String]) -> Set<RoleName>? {
        let roles = groups.reduce(defaultRoles) { $0.union(self.groups[$1] ?? []) }
        return isRequired && roles.isEmpty ? nil : roles
    }
}
