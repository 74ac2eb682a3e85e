import HTTPTypes

extension GatewayResponse {
    /// Lets shared caches keep an answer that a caller without a credential got. They ask before each use, and tell it
    /// from what a caller with one would get (RFC 9111, sections 3.5, 4.1 and 5.2.2).
    mutating func allowSharing() {
        guard headers[.cacheControl] == ResponseEncoder.keptByTheCaller else { return }
        headers[.cacheControl] = "public, no-cache"
        headers[.vary] = "\(headers[.vary] ?? ResponseEncoder.vary), Authorization, Cookie"
    }
}
