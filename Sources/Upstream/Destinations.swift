import AdapterKit
import Foundation
import IPAddresses
import NIOCore
import NIOPosix
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
        try check(origin)
        return try allowedAddresses(try await resolve(origin.host), of: origin)
    }

    /// The same where no resolver has to be asked; nil otherwise.
    func knownAddresses(of origin: UpstreamOrigin) throws -> [IPAddress]? {
        try check(origin)
        if let address = IPAddress(origin.host) { return try allowedAddresses([address], of: origin) }
        return try names.withLock { $0.addresses(of: origin.host, now: .now) }.map {
            try allowedAddresses($0, of: origin)
        }
    }

    private func check(_ origin: UpstreamOrigin) throws {
        guard settings.origins.contains(origin) else {
            throw UpstreamFailure(.destinationRefused, of: settings.name, detail: "\(origin) is not configured")
        }
    }

    private static func refusal(of host: String, _ found: [IPAddress]) -> String {
        let addresses = found.prefix(4).map(\.description).joined(separator: ", ")
        return "\(host) is in no public network" + (addresses == host ? "" : " (\(addresses))")
    }

    private func allowedAddresses(_ found: [IPAddress], of origin: UpstreamOrigin) throws -> [IPAddress] {
        guard !found.isEmpty else {
            throw UpstreamFailure(.unreachable, of: settings.name, detail: "\(origin.host) has no address")
        }
        let allowed = found.filter(rule.allows)
        guard !allowed.isEmpty else {
            throw UpstreamFailure(
                .destinationRefused, of: settings.name,
                detail: Self.refusal(of: origin.host, found))
        }
        return Array(allowed.prefix(settings.limits.addresses))
    }

    private func resolve(_ host: String) async throws -> [IPAddress] {
        if let address = IPAddress(host) { return [address] }
        let now = ContinuousClock.now
        let found = try await resolver.addresses(of: host)
        names.withLock { $0.note(host, found, until: now + settings.limits.names) }
        return found
    }
}

/// Which addresses may be connected to: public ones, and the networks that were allowed by name.
struct DestinationRule: Sendable {
    let allowed: [AddressRange]

    func allows(_ address: IPAddress) -> Bool {
        !Self.special.contains { $0.contains(address) } || allowed.contains { $0.contains(address) }
    }

    /// The ranges that IANA's registries of special-purpose addresses keep from the public internet (RFC 6890), multicast, and
    /// what carries an IPv4 address inside an IPv6 one, where the inner one would escape the rule.
    static let special: [AddressRange] = [
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
        "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
        "224.0.0.0/4", "240.0.0.0/4",
        "::/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
        "5f00::/16", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8",
    ]
}

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

/// From a host's name to its addresses. A port, so that a test decides what a name means.
public protocol NameResolver: Sendable {
    /// In the order in which they are to be tried; empty where the name is unknown. Ends with the task that waits.
    func addresses(of host: String) async throws(CancellationError) -> [IPAddress]
}

/// The operating system's resolver (getaddrinfo(3)), which blocks and therefore has threads of its own. A caller that stops
/// waiting continues at once; the thread is free when the system gives up.
public struct SystemNameResolver: NameResolver {
    private let loop = MultiThreadedEventLoopGroup.singleton.any()

    public init() {}

    public func addresses(of host: String) async throws(CancellationError) -> [IPAddress] {
        // Of two results the first counts, so the one that comes too late is dropped.
        let found = loop.makePromise(of: [IPAddress].self)
        NIOThreadPool.singleton.submit { state in
            found.succeed(state == .active ? Self.look(up: host) : [])
        }
        do {
            return try await withTaskCancellationHandler {
                try await found.futureResult.get()
            } onCancel: {
                found.fail(CancellationError())
            }
        } catch {
            throw CancellationError()
        }
    }

    private static func look(up host: String) -> [IPAddress] {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_flags = AI_ADDRCONFIG
        #if canImport(Glibc)
            hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        #else
            hints.ai_socktype = SOCK_STREAM
        #endif
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, nil, &hints, &list) == 0 else { return [] }
        defer { freeaddrinfo(list) }
        return sequence(first: list) { $0?.pointee.ai_next }.compactMap { $0.flatMap { numeric($0.pointee) } }
    }

    private static func numeric(_ info: addrinfo) -> IPAddress? {
        var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        let code = getnameinfo(
            info.ai_addr, info.ai_addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST)
        guard code == 0 else { return nil }
        let bytes = text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        return IPAddress(String(decoding: bytes, as: UTF8.self))
    }
}
