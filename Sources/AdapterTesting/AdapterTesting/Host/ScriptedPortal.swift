import AdapterKit
import Synchronization

/// A portal's systems in a test: what they answer is a function of who calls and what is asked, and every request is
/// remembered. Throw `PorticoError(.loginRequired, …)` for somebody who is not signed in there.
public final class ScriptedPortal: CallerUpstream {
    public struct Asked: Sendable {
        public let caller: Principal
        public let request: UpstreamRequest
    }

    public let name: UpstreamName
    private let answer: @Sendable (Principal, UpstreamRequest) throws -> UpstreamResponse
    private let log = Mutex<[Asked]>([])

    public init(
        name: UpstreamName = "portal",
        answer: @escaping @Sendable (Principal, UpstreamRequest) throws -> UpstreamResponse
    ) {
        (self.name, self.answer) = (name, answer)
    }

    /// In the order in which they came.
    public var asked: [Asked] { log.withLock { $0 } }

    public func send(_ request: UpstreamRequest, for call: Call) async throws -> UpstreamResponse {
        log.withLock { $0.append(Asked(caller: call.caller, request: request)) }
        return try answer(call.caller, request)
    }
}
