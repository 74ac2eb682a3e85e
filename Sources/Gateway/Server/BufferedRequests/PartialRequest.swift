import HTTPTypes
import NIOCore
import NIOHTTP1

/// A request that arrives, held until it is whole or passed on.
struct PartialRequest {
    let head: HTTPRequestHead
    let host: String
    private(set) var body: ByteBuffer?
    /// Where the connection has sent the same head before.
    let known: CachedRequestHead?

    /// Nil where the asynchronous layer is to have it whatever it asks for: bodies that are long or of unknown length,
    /// a connection that is to end, and a client that waits for a word before it sends.
    init?(_ head: HTTPRequestHead, _ validatedHead: ValidatedHead) {
        guard validatedHead.mayBeHeld else { return nil }
        self.head = head
        host = validatedHead.host
        known = nil
    }

    /// Whole.
    init(_ known: CachedRequestHead, body: ByteBuffer?) {
        head = known.head
        host = known.validatedHead.host
        self.known = known
        self.body = body
    }

    mutating func append(_ piece: ByteBuffer) {
        var piece = piece
        if body == nil { body = piece } else { body?.writeBuffer(&piece) }
    }

    /// As they came, but for the end.
    var parts: [HTTPServerRequestPart] {
        body.map { [.head(head), .body($0)] } ?? [.head(head)]
    }
}

extension HTTPResponseHead {
    init(_ response: GatewayResponse) {
        var headers = HTTPHeaders()
        headers.reserveCapacity(response.headers.count)
        for field in response.headers { headers.add(name: field.name.rawName, value: field.value) }
        self.init(version: .http1_1, status: .init(statusCode: response.status.code), headers: headers)
    }
}
