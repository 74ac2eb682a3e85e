import AdapterKit

/// Accounts of these names, each its own id and display name.
public struct MemoryAccounts: AccountList {
    private let names: [String]

    public init(_ names: [String]) {
        self.names = names.sorted { $0.lowercased() < $1.lowercased() }
    }

    public func account(named name: String) async throws -> AccountSummary? {
        names.first { $0.lowercased() == name.lowercased() }.map(Self.summary)
    }

    public func accounts(after name: String?, limit: Int) async throws -> [AccountSummary] {
        let later = names.filter { one in name.map { one.lowercased() > $0.lowercased() } ?? true }
        return later.prefix(limit).map(Self.summary)
    }

    private static func summary(_ name: String) -> AccountSummary {
        AccountSummary(id: name, name: name, displayName: name)
    }
}
