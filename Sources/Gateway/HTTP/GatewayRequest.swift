import AdapterKit
import HTTPServer
import HTTPTypes
import Synchronization
import Telemetry

/// One request, from a connection or from a batch.
///
/// A class, to avoid retain and release traffic for each field of a structure that many functions pass on.
final class GatewayRequest: Sendable {
    let id: String
    let method: HTTPRequest.Method
    let target: RequestTarget
    let headers: HTTPFields
    /// The IP address of the client; behind a trusted proxy, the one that the proxy names.
    let peer: String
    /// Of the address that the sender used: `http` or `https`.
    let scheme: String
    /// The client's certificate (DER), verified; nil: it showed none.
    let certificate: [UInt8]?
    /// The host and the port, as the sender wrote them; empty where they are unknown.
    let authority: String
    let body: RequestBodySource
    /// When the request is answered 504.
    let deadline: ContinuousClock.Instant
    /// Parts of a batch are not batches again.
    let isPartOfBatch: Bool
    /// The first call of a batch is what the batch itself was counted for: its address, and the caller with this key of
    /// ``RequestQuotas``. Nil for every other request.
    let countedAs: String?
    /// Where it is in its trace; nil: traces are not recorded.
    let place: RequestPlace?
    /// What its steps take, once it is dispatched; empty: nothing is measured.
    let timeline = AtomicLazyReference<RequestTimeline>()
    /// Set once its caller is known, where its body has to be waited for.
    let confirmation = AtomicLazyReference<CallerConfirmation>()

    init(
        id: String, method: HTTPRequest.Method, target: RequestTarget, headers: HTTPFields, peer: String,
        scheme: String = "http", authority: String = "", certificate: [UInt8]? = nil, body: RequestBodySource,
        deadline: ContinuousClock.Instant,
        isPartOfBatch: Bool = false,
        countedAs: String? = nil, place: RequestPlace? = nil
    ) {
        self.place = place
        self.id = id
        self.method = method
        self.target = target
        self.headers = headers
        self.peer = peer
        self.scheme = scheme
        self.authority = authority
        self.certificate = certificate
        self.body = body
        self.deadline = deadline
        self.isPartOfBatch = isPartOfBatch
        self.countedAs = countedAs
    }

    /// Scheme and authority, for absolute addresses in answers; empty where they are unknown.
    var origin: String { authority.isEmpty ? "" : "\(scheme)://\(authority)" }
}

/// Looks again whether a caller may do what it asked for, once a body that was waited for is there: until then its
/// credential may have been revoked, or its rights taken.
final class CallerConfirmation: Sendable {
    /// Throws what the caller would be refused with now.
    let confirm: @Sendable (GatewayRequest) async throws -> Void

    init(_ confirm: @escaping @Sendable (GatewayRequest) async throws -> Void) {
        self.confirm = confirm
    }
}

/// Where a request's body comes from. It can be collected once.
enum RequestBodySource: Sendable {
    case bytes([UInt8])
    /// Collects at most so many bytes; throws `request.tooLarge` as soon as there are more.
    case stream(@Sendable (_ limit: Int) async throws -> [UInt8])

    func collect(upTo limit: Int) async throws -> [UInt8] {
        switch self {
        case .bytes(let bytes):
            guard bytes.count <= limit else { throw PorticoError.bodyTooLarge(limit: limit) }
            return bytes
        case .stream(let collect): return try await collect(limit)
        }
    }
}
