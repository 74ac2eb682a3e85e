import AdapterKit
import RecordStorage

/// Signs in with the password kept with the account.
package struct LocalAccounts: SignInProvider {
    package let name: ProviderName = "local"
    let accounts: AccountDirectory
    let hasher: PasswordHasher
    let log: Log

    package init(store: any Store, configuration: IdentityConfiguration.Passwords, randomness: any Randomness, log: Log)
    {
        let accounts = AccountDirectory(records: IdentityRecords(store: store))
        self.init(accounts: accounts, hasher: PasswordHasher(configuration, randomness: randomness), log: log)
    }

    init(accounts: AccountDirectory, hasher: PasswordHasher, log: Log) {
        self.accounts = accounts
        self.hasher = hasher
        self.log = log
    }

    /// One look-up and one hash, whether the account is there, is disabled, or has no password.
    package func verify(_ evidence: SignInEvidence) async throws -> SignInVerdict {
        guard case .password(let username, let password, let address, let priority) = evidence else { return .refused }
        let name = AccountName(username)
        let found = try await accounts.account(named: name ?? Self.anyName)
        let account = name == nil ? nil : found
        let share = PasswordShare(address: address, name: username, priority: priority)
        let matches = try await hasher.verify(password, against: account?.password, for: share)
        guard matches, let account, account.state == .active else { return .refused }
        try await strengthen(account, with: password, for: share)
        return .accepted(ProvenAccount(account))
    }

    /// Hashes again where the setting has changed since the password was set. Who it is stays proven if that fails.
    private func strengthen(_ account: Account, with password: Secret, for share: PasswordShare) async throws {
        guard let stored = account.password, stored.parameters != hasher.parameters else { return }
        do {
            let hash = try await hasher.hash(password, for: share)
            let change = AccountRecord.update(account, ["password": .string(hash.text.reveal())])
            try await accounts.records.write([change], author: account.name.text)
        } catch let error as PorticoError {
            log.warning(
                "password not hashed again", ["account": .text(account.id.text), "code": .text(error.code.rawValue)])
        }
    }

    /// Looked up, for the time it takes, where the text is no name; what is found does not count.
    private static let anyName: AccountName = "0"
}
