import AdapterKit

/// The pending sign-ins that came back from their provider already: each is good for one answer, whatever the provider
/// makes of a second one. A state machine without effects.
package struct UsedSignIns: Sendable {
    private struct Use {
        let address: ClientAddress
        let ends: WireDate
        let number: UInt64
    }

    let capacity: Int
    private var uses: [String: Use] = [:]
    private var lastNumber: UInt64 = 0

    package init(capacity: Int = 65_536) {
        self.capacity = capacity
    }

    package var count: Int { uses.count }

    /// Whether this is the first use of the sign-in, which ends by itself at `ends`.
    package mutating func use(_ id: String, from address: ClientAddress, until ends: WireDate, now: WireDate) -> Bool {
        guard uses[id] == nil else { return false }
        if uses.count >= capacity { makeRoom(now: now) }
        lastNumber += 1
        uses[id] = Use(address: address, ends: ends, number: lastNumber)
        return true
    }

    /// What has ended goes; if that is not enough, the oldest of the address that has the most: so whoever fills the
    /// memory could at best repeat his own.
    private mutating func makeRoom(now: WireDate) {
        uses = uses.filter { now < $0.value.ends }
        guard uses.count >= capacity else { return }
        let heaviest = Dictionary(grouping: uses) { $0.value.address }.max { $0.value.count < $1.value.count }
        let oldest = (heaviest?.value ?? []).sorted { $0.value.number < $1.value.number }
        for (id, _) in oldest.prefix(max(1, oldest.count / 10)) { uses[id] = nil }
    }
}
