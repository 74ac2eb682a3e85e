/// Names that were resolved a moment ago. No more than an upstream has servers.
struct ResolvedNameCache {
    private var known: [String: (addresses: [IPAddress], until: ContinuousClock.Instant)] = [:]

    func addresses(of host: String, now: ContinuousClock.Instant) -> [IPAddress]? {
        known[host].flatMap { now < $0.until ? $0.addresses : nil }
    }

    /// A name without addresses is asked for again at once.
    mutating func note(_ host: String, _ addresses: [IPAddress], until: ContinuousClock.Instant) {
        known[host] = addresses.isEmpty ? nil : (addresses, until)
    }
}
