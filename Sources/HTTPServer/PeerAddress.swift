import HTTPTypes
import IPAddresses
import NIOCore

/// The client's IP address: the connection's peer, or the address that a trusted proxy (`http.trustedProxies`) names.
///
/// Only `X-Forwarded-For` is read. Every proxy appends the address that it saw, so the list is read from its end up to
/// the first address that is no trusted proxy; the sender may have invented all entries before that.
package struct PeerAddress: Sendable {
    let proxies: [AddressRange]
    /// Whether the server itself speaks TLS.
    let isSecure: Bool

    package init(proxies: [AddressRange], isSecure: Bool = false) {
        self.proxies = proxies
        self.isSecure = isSecure
    }

    /// On the channel's event loop. `certificate`: what the client showed in the handshake.
    func ofConnection(_ channel: (any Channel)?, _ certificate: PeerCertificate? = nil) -> ConnectionPeer {
        let text = channel?.remoteAddress?.ipAddress ?? "local"
        return ConnectionPeer(
            address: text, isProxy: !proxies.isEmpty && isProxy(text), certificate: certificate)
    }

    /// Whose connection it is, to count those of each; nil for a trusted proxy's, which brings many clients, and for those
    /// without an address.
    func client(of channel: any Channel) -> String? {
        guard let text = channel.remoteAddress?.ipAddress, let address = IPAddress(text), !isProxy(text) else {
            return nil
        }
        return address.clientNetwork
    }

    package func peer(_ connection: ConnectionPeer, _ headers: HTTPFields) -> String {
        guard connection.isProxy else { return connection.address }
        return forwardedAddress(headers) ?? connection.address
    }

    /// Scheme of the address that the sender used; a trusted proxy says in `X-Forwarded-Proto` which that was.
    func scheme(_ connection: ConnectionPeer, _ headers: HTTPFields) -> String {
        if connection.isProxy, let scheme = headers[.xForwardedProto], scheme == "https" || scheme == "http" {
            return scheme
        }
        return isSecure ? "https" : "http"
    }

    private func forwardedAddress(_ headers: HTTPFields) -> String? {
        var last: String?
        for field in headers[values: .xForwardedFor].reversed() {
            for piece in field.split(separator: ",", omittingEmptySubsequences: false).reversed() {
                let text = String(
                    piece.drop { $0 == " " || $0 == "\t" }.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
                guard IPAddress(text) != nil else { return last }
                last = text
                if !isProxy(text) { return text }
            }
        }
        return last
    }

    private func isProxy(_ text: String) -> Bool {
        guard let address = IPAddress(text) else { return false }
        return proxies.contains { $0.contains(address) }
    }
}

/// The peer of a connection, which does not change from one request to the next.
package struct ConnectionPeer: Sendable {
    let address: String
    let isProxy: Bool
    let certificate: PeerCertificate?

    package init(address: String, isProxy: Bool, certificate: PeerCertificate? = nil) {
        self.address = address
        self.isProxy = isProxy
        self.certificate = certificate
    }
}

extension HTTPField.Name {
    static let xForwardedFor = HTTPField.Name("X-Forwarded-For")!
    static let xForwardedProto = HTTPField.Name("X-Forwarded-Proto")!
}
