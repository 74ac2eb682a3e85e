import AdapterKit

/// Finds accounts.
struct AccountDirectory: Sendable {
    let records: IdentityRecords

    func account(_ id: AccountID) async throws -> Account? {
        try await records.record(id.recordID, in: IdentityCollections.accounts).map(AccountRecord.read)
    }

    /// By name, whatever its case.
    func account(named name: AccountName) async throws -> Account? {
        try await records.record(where: "foldedName", equals: name.folded, in: IdentityCollections.accounts)
            .map(AccountRecord.read)
    }

    /// The account, where it may sign in.
    func active(_ id: AccountID) async throws -> Account? {
        let account = try await account(id)
        return account?.state == .active ? account : nil
    }
}
