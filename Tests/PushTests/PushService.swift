import AdapterKit
import Synchronization

/// A push service that answers every request alike, and remembers the requests.
final class PushService: Upstream {
    let name: UpstreamName = "fcm"
    let url: UpstreamAddress
    let actsForCallers = false
    private let answers: Mutex<[Result<(Int, String), UpstreamFailure>]>
    private let log = Mutex<[UpstreamRequest]>([])

    /// The answers of the requests, in their order; the last one is that of all further ones.
    init(_ answers: [Result<(Int, String), UpstreamFailure>]) {
        guard let url = UpstreamAddress("https://fcm.example/") else { preconditionFailure("an address") }
        self.url = url
        self.answers = Mutex(answers)
    }

    convenience init(_ status: Int, _ body: String) { self.init([.success((status, body))]) }
    convenience init(failing kind: UpstreamFailure.Kind) { self.init([.failure(UpstreamFailure(kind, of: "fcm"))]) }

    var requests: [UpstreamRequest] { log.withLock { $0 } }

    func stream(_ request: UpstreamRequest, for caller: Principal?) async throws(UpstreamFailure) -> UpstreamStream {
        throw UpstreamFailure(.broken, of: name)
    }

    func send(_ request: UpstreamRequest, for caller: Principal?) async throws(UpstreamFailure) -> UpstreamResponse {
        log.withLock { $0.append(request) }
        let answer = answers.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }
        let (status, body) = try answer.get()
        return UpstreamResponse(
            address: request.address, status: status, fields: ["Retry-After": "7"], body: Array(body.utf8))
    }
}
