import AdapterKit
import HTTPServer
import HTTPTypes
import RecordStorage
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
    /// The scheme of the address that the sender used: `http` or `https`.
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
    /// The time of its steps, once it is dispatched; empty: nothing is measured.
    let timeline = AtomicLazyReference<RequestTimeline>()
    /// Set once its caller is known, where its body has to be waited for or it changes something.
    let confirmation = AtomicLazyReference<RequestConfirmation>()

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

/// Looks again whether a caller may do what it asked for, once a body that was waited for is there, and before changes of
/// work that goes on: until then its credential may have been revoked, or its rights taken.
final class RequestConfirmation: Sendable {
    /// Throws what the caller would be refused with now.
    let confirm: @Sendable (GatewayRequest) async throws -> Void
    private let last: Mutex<ContinuousClock.Instant>

    /// `now`: the caller was looked up then.
    init(at now: ContinuousClock.Instant = .now, _ confirm: @escaping @Sendable (GatewayRequest) async throws -> Void) {
        self.confirm = confirm
        last = Mutex(now)
    }

    /// Whether the caller was looked up ``interval`` ago or earlier. It counts as looked up now.
    func isDue(at now: ContinuousClock.Instant = .now) -> Bool {
        last.withLock { last in
            guard now - last >= Self.interval else { return false }
            last = now
            return true
        }
    }

    private static let interval = Duration.seconds(1)
}

/// Confirms the caller of a request before its changes, at most once a second.
struct ChangeConfirmation: CallerConfirmation {
    let request: GatewayRequest

    func confirm() async throws {
        guard let confirmation = request.confirmation.load(), confirmation.isDue() else { return }
        try await confirmation.confirm(request)
    }
}

/// Where a request's body comes from. It can be collected once.
enum RequestBodySource: Sendable {
    case bytes([UInt8])
    /// Collects at most so many bytes; throws `request.tooLarge` as soon as there are more.
    case stream(@Sendable (_ limit: Int) async throws -> [UInt8])

    var isWaitedFor: Bool {
        switch self {
        case .bytes: false
        case .stream: true
        }
    }

    func collect(upTo limit: Int) async throws -> [UInt8] {
        switch self {
        case .bytes(let bytes):
            guard bytes.count <= limit else { throw PorticoError.bodyTooLarge(limit: limit) }
            return bytes
        case .stream(let collect): return try await collect(limit)
        }
    }
}
