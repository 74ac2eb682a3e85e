import HTTPTypes
import NIOCore

/// What one request is answered with out of memory.
struct ImmediateResponse {
    let kept: CachedResponse
    /// The caller has the answer already.
    let isUnchanged: Bool
    let isForHead: Bool
    /// Fields of this sending alone.
    let fields: HTTPFields
    let trace: RequestTrace

    var head: ByteBuffer { isUnchanged ? kept.unchangedHead ?? kept.head : kept.head }
    var sendsBody: Bool { !isUnchanged && !isForHead }
    var status: Int { isUnchanged ? HTTPResponse.Status.notModified.code : kept.response.status.code }
    var bytes: Int { sendsBody ? kept.response.buffer.readableBytes : 0 }
}
