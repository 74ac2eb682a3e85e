/// The accounts of the host, for adapters whose records name people. Nothing secret is in it, and nothing can be changed.
///
/// Both throw ``PorticoError`` where the host cannot tell. Implementations are safe to use from any task.
public protocol AccountList: Sendable {
    /// The account that may sign in by this name, case aside; nil where there is none.
    func account(named name: String) async throws -> AccountSummary?

    /// Accounts that may sign in, by name, at most `limit`; those after the name `after` where one is given.
    func accounts(after name: String?, limit: Int) async throws -> [AccountSummary]
}

/// Whom an adapter's users can be shown.
public struct AccountSummary: Sendable, Equatable {
    /// Stays the same when the account is renamed.
    public let id: String
    /// As records name it (``Principal/name``).
    public let name: String
    public let displayName: String

    public init(id: String, name: String, displayName: String) {
        self.id = id
        self.name = name
        self.displayName = displayName
    }
}
