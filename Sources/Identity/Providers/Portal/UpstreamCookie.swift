import AdapterKit

/// One cookie as another system set it (RFC 6265, sections 5.2 and 5.3; the rules on `Secure` and on names with a prefix
/// are those of RFC 6265bis, sections 5.6 and 5.7).
struct UpstreamCookie: Sendable, Equatable {
    let name: String
    let value: Secret
    /// Lower case.
    let domain: String
    /// Whether only the very host that set it gets it back.
    let isHostOnly: Bool
    let path: String
    let isSecure: Bool
    /// Nil: when the sign-in ends.
    let expires: WireDate?
    /// Whether a server without TLS set it.
    private let isFromPlainHTTP: Bool

    /// Nil for what is no cookie, is too large, or is set for somebody else's servers.
    init?(_ field: String, from address: UpstreamAddress, now: WireDate) {
        guard field.utf8.count <= Self.maximumBytes, field.utf8.allSatisfy(Self.isAllowed) else { return nil }
        let pieces = field.split(separator: ";", omittingEmptySubsequences: false).map { Self.pair($0) }
        guard let (name, value) = pieces.first, let value, !name.isEmpty else { return nil }
        let attributes = Attributes(pieces.dropFirst(), now: now)
        let host = address.origin.host
        guard let domain = Self.domain(attributes.domain, host: host) else { return nil }
        self.name = name
        self.value = Secret(value)
        self.domain = domain.name
        isHostOnly = domain.isHostOnly
        isSecure = attributes.isSecure
        path = attributes.path ?? Self.defaultPath(address)
        expires = attributes.lifeEnds ?? attributes.expires
        isFromPlainHTTP = !address.origin.isSecure
        guard !isSecure || address.origin.isSecure, keepsItsPrefix else { return nil }
    }

    func isSent(to address: UpstreamAddress, now: WireDate) -> Bool {
        let host = address.origin.host
        let reachesHost = host == domain || (!isHostOnly && Self.isWithin(host, domain))
        return reachesHost && (address.origin.isSecure || !isSecure) && isLive(now) && reachesPath(String(address.path))
    }

    func isLive(_ now: WireDate) -> Bool { expires.map { now < $0 } ?? true }

    /// Whether it says something: neither empty nor a pair of quotes with nothing between them.
    var hasValue: Bool { value.reveal().utf8.contains { $0 != UInt8(ascii: "\"") } }

    /// Whether setting this one replaces the other.
    func hasPlace(of other: UpstreamCookie) -> Bool {
        name == other.name && domain == other.domain && path == other.path
    }

    /// Whether a server without TLS would take the place of a cookie that one with TLS keeps for itself.
    func overrides(secure other: UpstreamCookie) -> Bool {
        isFromPlainHTTP && other.isSecure && name == other.name
            && (Self.isWithin(domain, other.domain) || Self.isWithin(other.domain, domain))
    }

    private func reachesPath(_ other: String) -> Bool {
        other == path || (other.hasPrefix(path) && (path.hasSuffix("/") || other.dropFirst(path.count).hasPrefix("/")))
    }

    private var keepsItsPrefix: Bool {
        let name = name.lowercased()
        if name.hasPrefix("__host-") { return isSecure && isHostOnly && path == "/" }
        return !name.hasPrefix("__secure-") || isSecure
    }

    private static let maximumBytes = 8192

    /// Tabs and what is beyond ASCII are allowed, other control characters are not.
    private static func isAllowed(_ byte: UInt8) -> Bool { byte == 0x09 || (byte >= 0x20 && byte != 0x7f) }

    private static func pair(_ text: Substring) -> (name: String, value: String?) {
        let pieces = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map { trimmed($0) }
        return (pieces.first ?? "", pieces.count > 1 ? pieces[1] : nil)
    }

    private static func trimmed(_ text: Substring) -> String {
        func isSpace(_ character: Character) -> Bool { character == " " || character == "\t" }
        let start = text.drop(while: isSpace)
        return String(start.prefix(start.count - start.reversed().prefix(while: isSpace).count))
    }

    /// RFC 6265, section 5.1.4.
    private static func defaultPath(_ address: UpstreamAddress) -> String {
        let folder = address.path.prefix(upTo: address.path.lastIndex(of: "/") ?? address.path.startIndex)
        return folder.isEmpty ? "/" : String(folder)
    }
}

extension UpstreamCookie {
    /// RFC 6265, sections 5.2.1 to 5.2.5: of an attribute that stands there more than once the last valid one counts, and
    /// `Max-Age` before `Expires`.
    private struct Attributes {
        var expires: WireDate?
        var lifeEnds: WireDate?
        var domain: String?
        var path: String?
        var isSecure = false

        init(_ pieces: some Sequence<(name: String, value: String?)>, now: WireDate) {
            for piece in pieces {
                let value = piece.value ?? ""
                switch piece.name.lowercased() {
                case "expires": expires = CookieDate.parse(value) ?? expires
                case "max-age": lifeEnds = Self.end(ofLife: value, now: now) ?? lifeEnds
                case "domain": domain = value.isEmpty ? domain : value.lowercased()
                case "path": path = value.hasPrefix("/") ? value : nil
                case "secure": isSecure = true
                default: break
                }
            }
        }

        /// Whole seconds, negative ones too; nil for any other text.
        private static func end(ofLife text: String, now: WireDate) -> WireDate? {
            let digits = text.hasPrefix("-") ? text.dropFirst() : text[...]
            guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let seconds = Double(text)
            else { return nil }
            return WireDate(secondsSince1970: now.secondsSince1970 + min(max(seconds, 0), longestLife))
        }

        private static let longestLife = 400.0 * 86_400
    }

    /// The host itself, or a domain that the host is in and that one registers; never an address, which has no
    /// subdomains. Nil where the cookie is for servers that are not the host's own.
    private static func domain(_ attribute: String?, host: String) -> (name: String, isHostOnly: Bool)? {
        guard let text = attribute else { return (host, true) }
        let domain = text.hasPrefix(".") ? String(text.dropFirst()) : text
        if domain == host { return (host, isPublic(domain)) }
        let isAddress = host.contains(":") || host.utf8.allSatisfy { $0 == 0x2e || ($0 >= 0x30 && $0 <= 0x39) }
        return !isAddress && isWithin(host, domain) && !isPublic(domain) ? (domain, false) : nil
    }

    private static func isWithin(_ host: String, _ domain: String) -> Bool {
        host == domain || host.hasSuffix("." + domain)
    }

    /// Whether strangers register names below it: `com`, `co.uk`. A rule of thumb instead of the public suffix list:
    /// cookies go to the portal's configured servers only, whatever their domain (docs/decisions/0091).
    private static func isPublic(_ domain: String) -> Bool {
        let labels = domain.split(separator: ".", omittingEmptySubsequences: false)
        if labels.count < 2 || labels.contains("") { return true }
        let registries: Set<Substring> = ["ac", "co", "com", "edu", "gob", "gov", "gv", "ne", "net", "or", "org"]
        return labels.count == 2 && labels[1].utf8.count == 2 && registries.contains(labels[0])
    }
}
