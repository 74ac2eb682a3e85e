import AdapterKit

/// Which accounts listen to a feed. Whoever comes back within the grace was never away: a connection that is cut and
/// opened again is nobody's news.
struct PresenceList {
    private struct Departure {
        let due: ContinuousClock.Instant
        let groups: Set<RecordID>
    }

    private let grace: Duration
    private var streams: [String: Set<UInt64>] = [:]
    private var leaving: [String: Departure] = [:]

    init(grace: Duration) {
        self.grace = grace
    }

    /// Whether the account was away until now.
    mutating func arrive(_ name: String, _ stream: UInt64) -> Bool {
        let wasHere = streams[name] != nil || leaving.removeValue(forKey: name) != nil
        streams[name, default: []].insert(stream)
        return !wasHere
    }

    mutating func leave(_ name: String, _ stream: UInt64, _ groups: Set<RecordID>, at now: ContinuousClock.Instant) {
        guard streams[name]?.remove(stream) != nil, streams[name]?.isEmpty == true else { return }
        streams[name] = nil
        leaving[name] = Departure(due: now + grace, groups: groups)
    }

    /// Those who stayed away, each told once.
    mutating func departed(at now: ContinuousClock.Instant) -> [(name: String, groups: Set<RecordID>)] {
        let gone = leaving.filter { $0.value.due <= now }
        for name in gone.keys { leaving[name] = nil }
        return gone.map { ($0.key, $0.value.groups) }
    }
}
