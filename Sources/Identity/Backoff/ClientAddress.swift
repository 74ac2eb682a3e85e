import Foundation

/// Where a request came from, as far as limits go: an IPv4 address, or the /64 network of an IPv6 address, because one
/// household or server has a whole /64 to choose addresses from.
public struct ClientAddress: Sendable, Hashable, CustomStringConvertible {
    public let description: String

    /// From the text of an IP address, without port. Anything else is one address of its own, ``unknown``.
    public init(_ text: String) {
        description = Self.version4(text) ?? Self.network6(text) ?? "unknown"
    }

    /// A peer without an IP address, such as one on a Unix socket.
    public static let unknown = ClientAddress("")

    private static func version4(_ text: String) -> String? {
        var address = in_addr()
        return inet_pton(AF_INET, text, &address) == 1 ? text : nil
    }

    private static func network6(_ text: String) -> String? {
        var address = in6_addr()
        guard inet_pton(AF_INET6, text, &address) == 1 else { return nil }
        let bytes = withUnsafeBytes(of: &address) { Array($0) }
        if bytes.starts(with: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff]) {
            return bytes[12...].map(String.init).joined(separator: ".")
        }
        let groups = stride(from: 0, to: 8, by: 2).map { String(Int(bytes[$0]) << 8 | Int(bytes[$0 + 1]), radix: 16) }
        return groups.joined(separator: ":") + "::/64"
    }
}
