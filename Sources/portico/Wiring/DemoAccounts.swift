import AdapterKit
import Identity

/// The accounts of the demonstration, made where they are not there yet.
struct DemoAccounts {
    private let accounts: [HostSettings.DemoAccount]

    init(_ accounts: [HostSettings.DemoAccount]) {
        self.accounts = accounts
    }

    func create(in identity: Identity, log: Log) async throws {
        for account in accounts where try await identity.administration.account(named: account.name) == nil {
            try await identity.administration.addAccount(
                NewAccount(account.name, roles: account.roles, password: account.password), by: .system)
            log.info("demo account created", ["account": .text("\(account.name)")])
        }
    }
}
