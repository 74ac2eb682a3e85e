import AdapterKit
import Synchronization

/// Where one upstream's calls may connect to. A name is resolved here and nowhere else: the connection is made to an
/// address that was checked, not to the name, which could mean something else a moment later (DNS rebinding).
final class Destinations: Sendable {
    private let settings: UpstreamSettings
    private let rule: DestinationRule
    private let resolver: any NameResolver
    private let names = Mutex(ResolvedNameCache())

    init(_ settings: UpstreamSettings, resolver: any NameResolver) {
        self.settings = settings
        rule = DestinationRule(allowed: settings.privateNetworks)
        self.resolver = resolver
    }

    /// The addresses to try, in their order; never empty.
    func addresses(of origin: UpstreamOrigin) async throws -> [IPAddress] {
        guard settings.origins.contains(origin) else {
            throw UpstreamFailure(.destinationRefused, of: settings.name, detail: "\(origin) is not configured")
        }
        let found = try await resolved(origin.host)
        guard !found.isEmpty else {
            throw UpstreamFailure(.unreachable, of: settings.name, detail: "\(origin.host) has no address")
        }
        let allowed = found.filter(rule.allows)
        guard !allowed.isEmpty else {
            throw UpstreamFailure(
                .destinationRefused, of: settings.name,
                detail: "\(origin.host) is in no public network: \(found.prefix(4).map(\.description))")
        }
        return Array(allowed.prefix(settings.limits.addresses))
    }

    private func resolved(_ host: String) async throws -> [IPAddress] {
        if let address = IPAddress(host) { return [address] }
        let now = ContinuousClock.now
        if let known = names.withLock({ $0.addresses(of: host, now: now) }) { return known }
        let found = try await resolver.addresses(of: host)
        names.withLock { $0.note(host, found, until: now + settings.limits.names) }
        return found
    }
}
