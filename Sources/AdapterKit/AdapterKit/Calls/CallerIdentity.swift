/// Whose share of what is scarce a piece of work uses: a signed-in caller by its name, an anonymous one by its network
/// address, the gateway itself.
///
/// The gateway binds ``current`` around every request, so that it reaches whatever limits work by caller (the store's
/// long reads, requests that are answered later) through every adapter and plugin. It authorizes nothing.
public struct CallerIdentity: Sendable, Hashable {
    private enum Kind: Hashable {
        case system, account, address
    }

    private let kind: Kind
    private let name: String

    /// Work of the gateway's own, such as upkeep.
    public static let system = CallerIdentity(kind: .system, name: "")

    public static func account(_ name: String) -> CallerIdentity { CallerIdentity(kind: .account, name: name) }

    /// `network`: an address, or the network that counts as one.
    public static func address(_ network: String) -> CallerIdentity { CallerIdentity(kind: .address, name: network) }

    /// Of the task at hand, and of the tasks that it starts.
    @TaskLocal public static var current = CallerIdentity.system
}
