/// From where accounts signed in lately: there, other people's failures elsewhere don't count.
///
/// Bounded in both directions; what was used longest ago goes first.
struct RecentSignInAddresses: Sendable {
    static let perAccount = 4
    static let accounts = 10_000

    private var addresses: [String: [ClientAddress]] = [:]
    private var order: [String] = []

    func contains(_ address: ClientAddress, for name: String) -> Bool {
        addresses[name]?.contains(address) ?? false
    }

    mutating func insert(_ address: ClientAddress, for name: String) {
        if addresses[name] == nil { makeRoom(for: name) }
        let others = (addresses[name] ?? []).filter { $0 != address }
        addresses[name] = Array(([address] + others).prefix(Self.perAccount))
    }

    /// A tenth at once, so that the array is not shifted at every insertion.
    private mutating func makeRoom(for name: String) {
        order.append(name)
        guard order.count > Self.accounts else { return }
        for old in order.prefix(Self.accounts / 10) { addresses[old] = nil }
        // Cannot trap: there are more accounts than that.
        order.removeFirst(Self.accounts / 10)
    }
}
