import AdapterKit
import HTTPTypes
import NIOCore

/// An answer that is sent many times: the response, and its heads as HTTP/1.1 writes them, made once.
///
/// What differs with each sending (the date, the request's id) is added to a head; the body's bytes are shared.
final class CachedResponse: Sendable {
    let response: GatewayResponse
    /// Without the empty line at its end.
    let head: ByteBuffer
    /// Of the 304 for callers who have the answer. Nil where it has no validator.
    let unchangedHead: ByteBuffer?

    init(_ response: GatewayResponse) {
        self.response = response
        head = response.framed().headText
        let hasValidator = response.headers[.eTag] != nil || response.headers[.lastModified] != nil
        unchangedHead = hasValidator ? response.unchanged().framed().headText : nil
    }

    /// Bytes that keeping it costs, about.
    var cost: Int { response.buffer.readableBytes + head.readableBytes + (unchangedHead?.readableBytes ?? 0) }
}

extension GatewayResponse {
    /// With what every response says about itself, whoever answers.
    func framed() -> GatewayResponse {
        var framed = self
        framed.frame()
        return framed
    }

    mutating func frame() {
        headers.put(.xContentTypeOptions, "nosniff")
        // What is no page of ours never acts on our origin, whoever wrote what is in it. An endpoint cannot forget it.
        if headers.text(.contentSecurityPolicy) == nil {
            headers.append(HTTPField(name: .contentSecurityPolicy, value: StoredContent.securityPolicy))
        }
        let hasLength = stream == nil && status != .noContent && status != .notModified
        if hasLength, headers.text(.contentLength) == nil {
            headers.append(HTTPField(name: .contentLength, value: String(buffer.readableBytes)))
        }
    }

    /// The 304 that stands for this response (RFC 9110, section 15.4.5).
    func unchanged() -> GatewayResponse {
        var unchanged = GatewayResponse(.notModified)
        // A 304's fields take the place of those that the caller has kept, a page's policy too.
        let names: [HTTPField.Name] = [
            .eTag, .lastModified, .cacheControl, .vary, .contentSecurityPolicy, .contentDisposition,
            .crossOriginResourcePolicy,
        ]
        for name in names {
            unchanged.headers[name] = headers[name]
        }
        return unchanged
    }

    fileprivate var headText: ByteBuffer {
        var text = ByteBuffer()
        writeHead(to: &text)
        return text
    }

    /// The status line and the fields (RFC 9112, sections 4 and 5), without the empty line at their end.
    func writeHead(to text: inout ByteBuffer) {
        text.writeStaticString("HTTP/1.1 ")
        text.writeString(String(status.code))
        text.writeStaticString(" ")
        text.writeString(status.reasonPhrase)
        text.writeStaticString("\r\n")
        for field in headers { text.writeField(field.name.rawName, field.value) }
    }
}

extension ByteBuffer {
    /// One line of a head. The value was checked where it became an `HTTPField`, or is ours.
    mutating func writeField(_ name: String, _ value: String) {
        writeString(name)
        writeStaticString(": ")
        writeString(value)
        writeStaticString("\r\n")
    }
}
