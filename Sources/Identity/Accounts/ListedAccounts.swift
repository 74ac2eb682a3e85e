import AdapterKit

/// The accounts that may sign in, as adapters see them.
struct ListedAccounts: AccountLookup {
    static let largestPage = 1000

    let context: IdentityContext

    func account(named name: String) async throws -> AccountSummary? {
        guard let name = AccountName(name), let account = try await context.accounts.account(named: name),
            account.state == .active
        else { return nil }
        return AccountSummary(account)
    }

    func accounts(after name: String?, limit: Int) async throws -> [AccountSummary] {
        let active = Filter.compare("state", .equal, .string(Account.State.active.rawValue))
        let later = name.map { Filter.compare("foldedName", .greater, .string(AccountName.fold($0))) }
        let query = Query(
            .both(active, later), order: [SortKey("foldedName")], limit: max(0, min(limit, Self.largestPage)))
        return try await context.records.page(query, in: IdentityCollections.accounts).records
            .map { AccountSummary(try AccountRecord.read($0)) }
    }
}

extension AccountSummary {
    init(_ account: Account) {
        self.init(id: account.id.text, name: account.name.text, displayName: account.displayName)
    }
}
