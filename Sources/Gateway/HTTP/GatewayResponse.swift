import AdapterKit
import HTTPServer
import HTTPTypes
import NIOCore

/// One response, before it is written to a connection or to a batch.
struct GatewayResponse: Sendable {
    var status: HTTPResponse.Status
    var headers: HTTPFields
    /// The body as a socket takes it. A kept answer is written many times, and every writing shares these bytes.
    var buffer: ByteBuffer
    /// A body that has no end yet; the buffer is empty then.
    var stream: (any ResponseStream)?
    /// The connection cannot be used any further: the rest of a refused body is not read.
    var closesConnection = false
    /// For the audit log: what came of an operator's verb that was carried out.
    var result = AdministrationResult.done
    /// For the access log: the error that this answer reports.
    var refusal: AccessRecord.Refusal?
    /// The same error in the shape of the path's contract, where that has to be waited for; nil in it: there is none.
    var awaitedShape: (@Sendable () async -> GatewayResponse?)?

    init(_ status: HTTPResponse.Status, headers: HTTPFields = [:], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        buffer = body.isEmpty ? ByteBuffer() : ByteBuffer(bytes: body)
    }

    /// The error in the shape that was waited for, with the fields that say something else than what the body is.
    func taking(_ shape: GatewayResponse) -> GatewayResponse {
        var response = self
        response.status = shape.status
        (response.buffer, response.stream) = (shape.buffer, shape.stream)
        response.headers = shape.headers
        for name in Set(headers.map(\.name)).subtracting(Self.representationFields) {
            response.headers[fields: name] = headers[fields: name]
        }
        return response
    }

    private static let representationFields: Set<HTTPField.Name> = [
        .contentType, .contentEncoding, .contentLength, .contentLanguage,
    ]

    /// A copy of the body's bytes.
    var body: [UInt8] {
        get { Array(buffer.readableBytesView) }
        set { buffer = newValue.isEmpty ? ByteBuffer() : ByteBuffer(bytes: newValue) }
    }
}

/// The result of an operator's verb, as the audit log has it.
enum AdministrationResult: String, Sendable {
    case done
    /// It was carried out, and nothing is another than before.
    case nothingChanged = "nothing changed"
    case failed

    /// Codes of errors that a verb ends with once what its path names was found.
    static let codesOfKnownThings: Set<ErrorCode> = [
        .upstreamFailed, .upstreamTimeout, .upstreamOutcomeUnknown, .recordConflict, .adapterUnavailable,
    ]
}
