import Foundation

/// Where a gateway is: scheme, host, port and perhaps a path before its own.
public struct ServerAddress: Sendable, Hashable, CustomStringConvertible {
    public let text: String

    /// Nil where it is not an absolute `http` or `https` address, or has a user, a query or a fragment.
    public init?(_ text: String) {
        guard let url = URLComponents(string: text), let scheme = url.scheme?.lowercased(),
            ["http", "https"].contains(scheme), let host = url.host, !host.isEmpty,
            url.user == nil, url.password == nil, url.query == nil, url.fragment == nil
        else { return nil }
        var text = text
        while text.hasSuffix("/") { text.removeLast() }
        self.text = text
    }

    public var description: String { text }
}
