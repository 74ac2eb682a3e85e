import HTTPTypes
import NIOCore
import NIOHTTP1

/// A request that arrives, held until it is whole or passed on.
struct HeldRequest {
    let head: HTTPRequestHead
    /// What its fields tell, where they are those of the connection's last request, which was held too.
    let repeated: RepeatedHead.Said?
    private(set) var body: ByteBuffer?

    /// Nil where the asynchronous layer is to have it whatever it asks for: bodies that are long or of unknown length,
    /// a connection that is to end, and a client that waits for a word before it sends.
    init?(_ head: HTTPRequestHead, after last: RepeatedHead) {
        guard head.version == .http1_1 else { return nil }
        repeated = last.repeated(by: head.headers)
        guard repeated != nil || Self.mayHold(head.headers) else { return nil }
        self.head = head
    }

    private static func mayHold(_ headers: HTTPHeaders) -> Bool {
        for (name, value) in headers {
            switch name.utf8.count {
            case 6 where name.isEqualCaseInsensitive("expect"): return false
            case 7 where name.isEqualCaseInsensitive("upgrade"): return false
            case 10 where name.isEqualCaseInsensitive("connection"):
                guard value.isEqualCaseInsensitive("keep-alive") else { return false }
            case 14 where name.isEqualCaseInsensitive("content-length"):
                guard let length = Int(value), length <= WholeRequestHandler.longestBody else { return false }
            case 16 where name.isEqualCaseInsensitive("content-encoding"): return false
            case 17 where name.isEqualCaseInsensitive("transfer-encoding"): return false
            default: continue
            }
        }
        return true
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
