import AdapterKit

/// One cookie as another system set it (RFC 6265, section 5.2).
struct UpstreamCookie: Sendable, Equatable {
    let name: String
    let value: Secret
    /// Lower case.
    let domain: String
    /// Whether only the very host that set it gets it back.
    let isHostOnly: Bool
    let path: String
    let isSecure: Bool
    let expires: WireDate?

    /// Nil for what is no cookie, is too large, or is set for somebody else's servers.
    init?(_ field: String, from address: UpstreamAddress, now: WireDate) {
        guard field.utf8.count <= Self.maximumBytes, field.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7f }) else {
            return nil
        }
        let pieces = field.split(separator: ";", omittingEmptySubsequences: false).map { Self.pair($0) }
        guard let (name, value) = pieces.first, let value, !name.isEmpty else { return nil }
        let attributes = Dictionary(
            pieces.dropFirst().map { ($0.name.lowercased(), $0.value ?? "") }, uniquingKeysWith: { $1 })
        let host = address.origin.host
        guard let domain = Self.domain(attributes["domain"], host: host) else { return nil }
        self.name = name
        self.value = Secret(value)
        self.domain = domain
        isHostOnly = (attributes["domain"] ?? "").isEmpty
        isSecure = attributes["secure"] != nil
        guard !isSecure || address.origin.isSecure else { return nil }
        path = attributes["path"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? Self.defaultPath(address)
        expires = attributes["max-age"].flatMap { Double($0) }.map {
            WireDate(secondsSince1970: now.secondsSince1970 + min(max($0, 0), Self.longestLife))
        }
    }

    func isSent(to address: UpstreamAddress, now: WireDate) -> Bool {
        let host = address.origin.host
        let reachesHost = host == domain || (!isHostOnly && host.hasSuffix("." + domain))
        return reachesHost && (address.origin.isSecure || !isSecure) && isLive(now) && reachesPath(String(address.path))
    }

    func isLive(_ now: WireDate) -> Bool { expires.map { now < $0 } ?? true }

    /// Whether setting this one replaces the other.
    func hasPlace(of other: UpstreamCookie) -> Bool {
        name == other.name && domain == other.domain && path == other.path
    }

    private func reachesPath(_ other: String) -> Bool {
        other == path || (other.hasPrefix(path) && (path.hasSuffix("/") || other.dropFirst(path.count).hasPrefix("/")))
    }

    private static let maximumBytes = 8192
    private static let longestLife = 400.0 * 86_400

    private static func pair(_ text: Substring) -> (name: String, value: String?) {
        let pieces = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map { trimmed($0) }
        return (pieces.first ?? "", pieces.count > 1 ? pieces[1] : nil)
    }

    private static func trimmed(_ text: Substring) -> String {
        let start = text.drop { $0 == " " }
        return String(start.prefix(start.count - start.reversed().prefix { $0 == " " }.count))
    }

    /// The host itself, or a domain with a dot that the host is in; never an address, which has no subdomains.
    private static func domain(_ attribute: String?, host: String) -> String? {
        guard let text = attribute?.lowercased(), !text.isEmpty else { return host }
        let domain = text.hasPrefix(".") ? String(text.dropFirst()) : text
        if domain == host { return host }
        let isAddress = host.contains(":") || host.utf8.allSatisfy { $0 == 0x2e || ($0 >= 0x30 && $0 <= 0x39) }
        return !isAddress && domain.contains(".") && host.hasSuffix("." + domain) ? domain : nil
    }

    /// RFC 6265, section 5.1.4.
    private static func defaultPath(_ address: UpstreamAddress) -> String {
        let folder = address.path.prefix(upTo: address.path.lastIndex(of: "/") ?? address.path.startIndex)
        return folder.isEmpty ? "/" : String(folder)
    }
}
