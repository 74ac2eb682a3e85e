import HTTPTypes
import NIOCore

/// A whole response as it goes out on an HTTP/1.1 connection.
struct WireResponse {
    /// Bodies up to this are copied behind their heads, so that one write carries both.
    static let longestCopy = 16 << 10

    let bytes: ByteBuffer
    /// Nil where `bytes` hold it, or there is none.
    let body: ByteBuffer?
    /// The connection ends with it.
    let isLast: Bool

    /// A response that says all about itself already.
    init(_ response: GatewayResponse) {
        let body = response.buffer
        let isCopied = body.readableBytes <= Self.longestCopy
        var bytes = ByteBufferAllocator().buffer(capacity: 512 + (isCopied ? body.readableBytes : 0))
        response.writeHead(to: &bytes)
        bytes.writeStaticString("\r\n")
        if isCopied { bytes.writeImmutableBuffer(body) }
        self.bytes = bytes
        self.body = isCopied ? nil : body
        isLast = response.closesConnection
    }

    /// A kept answer, with what is this sending's own.
    /// `date`: the field, whole.
    init(_ answer: ImmediateResponse, date: String, id: String) {
        let body = answer.sendsBody ? answer.kept.response.buffer : ByteBuffer()
        let isCopied = body.readableBytes <= Self.longestCopy
        var bytes = ByteBufferAllocator().buffer(
            capacity: answer.head.readableBytes + 160 + (isCopied ? body.readableBytes : 0))
        bytes.writeImmutableBuffer(answer.head)
        bytes.writeString(date)
        for field in answer.fields { bytes.writeField(field.name.rawName, field.value) }
        bytes.writeStaticString("X-Request-ID: ")
        bytes.writeString(id)
        bytes.writeStaticString("\r\n\r\n")
        if isCopied { bytes.writeImmutableBuffer(body) }
        self.bytes = bytes
        self.body = isCopied ? nil : body
        isLast = false
    }

    private init(bytes: ByteBuffer, body: ByteBuffer?) {
        self.bytes = bytes
        self.body = body
        isLast = true
    }

    /// The same, telling that the connection ends with it: a stop began after it was written.
    func endingConnection() -> WireResponse {
        guard !isLast, let line = bytes.readableBytesView.firstIndex(of: UInt8(ascii: "\n")) else { return self }
        var rest = bytes
        var told = ByteBufferAllocator().buffer(capacity: bytes.readableBytes + 24)
        if let status = rest.readSlice(length: line - bytes.readerIndex + 1) { told.writeImmutableBuffer(status) }
        told.writeField("Connection", "close")
        told.writeImmutableBuffer(rest)
        return WireResponse(bytes: told, body: body)
    }
}
