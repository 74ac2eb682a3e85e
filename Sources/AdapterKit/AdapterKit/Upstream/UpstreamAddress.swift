/// Which server an address leads to (RFC 6454, section 4): what permissions, cookies and connections are bound to.
public struct UpstreamOrigin: Sendable, Hashable, CustomStringConvertible {
    /// Whether it is reached over TLS.
    public let isSecure: Bool
    /// Lower case; an IPv6 address without its brackets.
    public let host: String
    /// The port, the scheme's default where the text names none.
    public let port: Int

    public var description: String {
        let port = port == (isSecure ? 443 : 80) ? "" : ":\(port)"
        return "\(isSecure ? "https" : "http")://\(host.contains(":") ? "[\(host)]" : host)\(port)"
    }
}

/// An address of another system: `http` or `https`, a host, a port, a path with its query.
///
/// Taken apart once, strictly: user names, fragments that would be sent, backslashes and anything that two parsers read
/// differently are refused when they are parsed, so that the server which was checked is the one that is asked.
public struct UpstreamAddress: Sendable, Hashable, CustomStringConvertible {
    /// The maximum length of an address, in bytes.
    public static let maximumLength = 8192

    /// The server.
    public let origin: UpstreamOrigin
    /// Path and query, as they are sent; begins with a slash.
    public let target: String

    /// Nil for a text that is no such address. A fragment is dropped, since it is never sent.
    public init?(_ text: String) {
        guard text.utf8.count <= Self.maximumLength, text.utf8.allSatisfy(Self.isAllowed) else { return nil }
        let isSecure = text.lowercased().hasPrefix("https://")
        guard isSecure || text.lowercased().hasPrefix("http://") else { return nil }
        let rest = text.dropFirst(isSecure ? 8 : 7)
        let authority = rest.prefix { !"/?#".contains($0) }
        guard let origin = UpstreamOrigin(isSecure: isSecure, authority: authority) else { return nil }
        let target = rest.dropFirst(authority.count).prefix { $0 != "#" }
        self.init(origin: origin, target: target.hasPrefix("/") ? String(target) : "/\(target)")
    }

    private init(origin: UpstreamOrigin, target: String) {
        self.origin = origin
        self.target = target
    }

    /// The target without its query.
    public var path: Substring { target.prefix { $0 != "?" } }

    public var description: String { origin.description + target }

    /// Without its query, which may hold what a log should not.
    public var logged: String { origin.description + path }

    /// The address that a reference such as that of a `Location` field means here (RFC 3986, section 5.2); nil where it leads
    /// nowhere that can be asked.
    public func resolving(_ reference: String) -> UpstreamAddress? {
        let text = reference.prefix { $0 != "#" }
        guard !text.isEmpty else { return self }
        if text.hasPrefix("//") { return UpstreamAddress((origin.isSecure ? "https:" : "http:") + text) }
        if Self.hasScheme(text) { return UpstreamAddress(String(text)) }
        guard text.utf8.allSatisfy(Self.isAllowed), text.utf8.count <= Self.maximumLength else { return nil }
        if text.hasPrefix("?") { return UpstreamAddress(origin: origin, target: String(path) + text) }
        let query = text.drop { $0 != "?" }
        let place = text.dropLast(query.count)
        let folder = path.prefix(through: path.lastIndex(of: "/") ?? path.startIndex)
        let merged = place.hasPrefix("/") ? String(place) : String(folder) + place
        return UpstreamAddress(origin: origin, target: Self.withoutDots(merged) + query)
    }

    /// With further members in its query.
    public func adding(_ fields: FormFields) -> UpstreamAddress {
        UpstreamAddress(origin: origin, target: target + (target.contains("?") ? "&" : "?") + fields.encoded)
    }

    /// At another path of the same server.
    public func at(path: String) -> UpstreamAddress? {
        path.hasPrefix("/") && !path.hasPrefix("//") ? resolving(path) : nil
    }

    private static func hasScheme(_ text: Substring) -> Bool {
        guard let colon = text.firstIndex(of: ":") else { return false }
        return !text[..<colon].contains { "/?".contains($0) }
    }

    private static func withoutDots(_ path: String) -> String {
        var kept: [Substring] = []
        let pieces = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        for piece in pieces {
            if piece == ".." { _ = kept.popLast() } else if piece != "." { kept.append(piece) }
        }
        let closes = pieces.last == "." || pieces.last == ".."
        return "/" + kept.joined(separator: "/") + (closes && !kept.isEmpty ? "/" : "")
    }

    /// Visible ASCII without what RFC 3986 leaves out and parsers disagree about.
    private static func isAllowed(_ byte: UInt8) -> Bool {
        byte > 0x20 && byte < 0x7f && !"\"<>\\^`{|}".utf8.contains(byte)
    }
}

extension UpstreamOrigin {
    fileprivate init?(isSecure: Bool, authority: Substring) {
        let host: Substring
        let rest: Substring
        if authority.hasPrefix("[") {
            guard let end = authority.firstIndex(of: "]") else { return nil }
            host = authority[..<end].dropFirst()
            rest = authority[end...].dropFirst()
            guard host.contains(":"), host.utf8.allSatisfy({ Self.isHexadecimal($0) || ":.".utf8.contains($0) }) else {
                return nil
            }
        } else {
            host = authority.prefix { $0 != ":" }
            rest = authority.dropFirst(host.count)
            guard Self.isName(host) else { return nil }
        }
        guard let port = Self.port(rest, isSecure: isSecure) else { return nil }
        self.init(isSecure: isSecure, host: host.lowercased(), port: port)
    }

    private static func port(_ text: Substring, isSecure: Bool) -> Int? {
        guard !text.isEmpty else { return isSecure ? 443 : 80 }
        let digits = text.dropFirst()
        guard text.hasPrefix(":"), (1...5).contains(digits.utf8.count),
            digits.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }), let port = Int(digits), (1...65_535).contains(port)
        else { return nil }
        return port
    }

    /// A name as DNS has them, or an IPv4 address: no empty piece, so no closing dot either.
    private static func isName(_ host: Substring) -> Bool {
        host.utf8.count <= 253
            && host.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { piece in
                (1...63).contains(piece.utf8.count)
                    && piece.utf8.allSatisfy { isHexadecimal($0) || isLetter($0) || $0 == 0x2d || $0 == 0x5f }
            }
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7a }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        (byte >= 0x30 && byte <= 0x39) || ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66)
    }
}
