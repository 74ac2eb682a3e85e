import AdapterKit

/// The content that the head of a request may have: an adapter's program, or a text that an adapter has from a caller, chooses it.
///
/// What cannot be sent is refused before the server's circuit breaker, because it says nothing about the server.
enum UpstreamRequestHead {
    /// Bytes of the address and all fields. Fewer than a connection holds before it says that it is full (64 KiB):
    /// AsyncHTTPClient ends the process where the head of a request with a body meets a full connection.
    static let maximumBytes = 32 << 10

    /// The fields of the connection itself (RFC 9110, section 7.6.1), the request's framing and its server: they are set here
    /// and nowhere else.
    private static let own: Set<String> = [
        "host", "connection", "keep-alive", "proxy-connection", "proxy-authorization", "te", "trailer",
        "transfer-encoding", "upgrade", "content-length", "expect", "http2-settings", RequestTargetHandler.field,
    ]

    /// The request without the fields that are the connection's. Throws for names that are no token, values with control
    /// characters and a head that is too long.
    static func checked(
        _ request: UpstreamRequest, of upstream: UpstreamName
    ) throws(UpstreamFailure) -> UpstreamRequest {
        func refuse(_ detail: String) -> UpstreamFailure {
            UpstreamFailure(.destinationRefused, of: upstream, detail: detail)
        }
        var bytes = request.address.description.utf8.count
        var fields: [(name: String, value: String)] = []
        for (name, value) in request.fields.all {
            guard !name.isEmpty, name.utf8.allSatisfy(isTokenByte) else {
                throw refuse("the name of a header field is no token")
            }
            guard value.utf8.allSatisfy({ $0 == 0x09 || $0 >= 0x20 && $0 != 0x7F }) else {
                throw refuse("the value of the header field \(name) has a control character")
            }
            bytes += name.utf8.count + value.utf8.count + 4
            guard bytes <= maximumBytes else { break }
            if !own.contains(name.lowercased()) { fields.append((name: name, value: value)) }
        }
        guard bytes <= maximumBytes else {
            throw refuse("an address and header fields of more than \(maximumBytes) bytes")
        }
        var request = request
        request.fields = UpstreamHeaders(fields)
        return request
    }

    /// RFC 9110, section 5.6.2.
    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"):
            true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }
}
