import HTTPTypes
import NIOCore
import NIOHTTP1

/// A request that arrives, held until it is whole or passed on.
struct HeldRequest {
    let head: HTTPRequestHead
    private(set) var body: ByteBuffer?

    /// Nil where the asynchronous layer is to have it whatever it asks for: bodies that are long or of unknown length,
    /// a connection that is to end, and a client that waits for a word before it sends.
    init?(_ head: HTTPRequestHead) {
        guard head.version == .http1_1 else { return nil }
        for (name, value) in head.headers {
            switch name.utf8.count {
            case 6 where name.isEqualCaseInsensitive("expect"): return nil
            case 7 where name.isEqualCaseInsensitive("upgrade"): return nil
            case 10 where name.isEqualCaseInsensitive("connection"):
                guard value.isEqualCaseInsensitive("keep-alive") else { return nil }
            case 14 where name.isEqualCaseInsensitive("content-length"):
                guard let length = Int(value), length <= WholeRequestHandler.longestBody else { return nil }
            case 16 where name.isEqualCaseInsensitive("content-encoding"): return nil
            case 17 where name.isEqualCaseInsensitive("transfer-encoding"): return nil
            default: continue
            }
        }
        self.head = head
    }

    mutating func append(_ piece: ByteBuffer) {
        var piece = piece
        if body == nil { body = piece } else { body?.writeBuffer(&piece) }
    }

    /// As they came, but for the end.
    var parts: [HTTPServerRequestPart] {
        body.map { [.head(head), .body($0)] } ?? [.head(head)]
    }

    /// Nil where the request names none, or several.
    var host: String? {
        let values = head.headers["host"]
        return values.count == 1 ? values[0] : nil
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
