import AdapterKit
import HTTPTypes
import RecordStorage
import Synchronization

/// Whether the gateway should get requests: from the moment it serves until the stop begins, and while the store can be
/// written. Adapters that have failed are named and change nothing else: the others are served.
public final class Readiness: Sendable {
    private let serving = Atomic<Bool>(false)
    private let adapters: Mutex<[ServedAdapter]>
    private let store: @Sendable () -> String?

    /// `store` is one word for why the store cannot be written; nil: it can.
    public init(adapters: [ServedAdapter] = [], store: @escaping @Sendable () -> String?) {
        self.adapters = Mutex(adapters)
        self.store = store
    }

    /// Another configuration has other adapters.
    public func use(_ adapters: [ServedAdapter]) { self.adapters.withLock { $0 = adapters } }

    public var isServing: Bool {
        get { serving.load(ordering: .relaxed) }
        set { serving.store(newValue, ordering: .relaxed) }
    }

    var isReady: Bool { isServing && storeProblem == nil }

    var storeProblem: String? { store() }

    /// The adapters that do not run, without those that an operator has disabled.
    var failedAdapters: [AdapterName] {
        adapters.withLock { $0 }.filter { !$0.isServing && !$0.slot.isDisabled }.map(\.declaration.name)
    }

    var disabledAdapters: [AdapterName] {
        adapters.withLock { $0 }.filter(\.slot.isDisabled).map(\.declaration.name)
    }
}

/// `GET /health/live`: the process answers.
struct LiveEndpoint: Endpoint {
    let properties = EndpointProperties(name: "health.live", access: .public, effect: .reads)
    let description = EndpointDescription(
        summary: "Whether the process answers.", tag: "Health",
        answers: [(.ok, .document(mediaType: "application/json"))])

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        Self.live.response
    }

    var mayRespondImmediately: Bool { true }

    func lookUpResponse(to request: AuthenticatedRequest) -> CacheLookup { .found(Self.live) }

    private static let live = CachedResponse(.health(.ok, "live"))
}

/// `GET /health/ready`: requests are welcome.
struct ReadyEndpoint: Endpoint {
    let readiness: Readiness
    let properties = EndpointProperties(name: "health.ready", access: .public, effect: .reads)
    let description = EndpointDescription(
        summary: "Whether requests are welcome.", tag: "Health",
        answers: [
            (.ok, .document(mediaType: "application/json")),
            (.serviceUnavailable, .document(mediaType: "application/json")),
        ])

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        current.response
    }

    var mayRespondImmediately: Bool { true }

    func lookUpResponse(to request: AuthenticatedRequest) -> CacheLookup { .found(current) }

    private var current: CachedResponse {
        let (store, failed, disabled) = (readiness.storeProblem, readiness.failedAdapters, readiness.disabledAdapters)
        let isReady = readiness.isServing && store == nil
        if store == nil, failed.isEmpty, disabled.isEmpty { return isReady ? Self.ready : Self.notReady }
        var details = ""
        if let store { details += ",\"store\":\"\(store)\"" }
        for (member, names) in [("failedAdapters", failed), ("disabledAdapters", disabled)] where !names.isEmpty {
            // Names of adapters are made of letters, digits and hyphens.
            details += ",\"\(member)\":[\(names.map { "\"\($0.text)\"" }.joined(separator: ","))]"
        }
        return CachedResponse(
            .health(isReady ? .ok : .serviceUnavailable, isReady ? "ready" : "not ready", details: details))
    }

    private static let ready = CachedResponse(.health(.ok, "ready"))
    private static let notReady = CachedResponse(.health(.serviceUnavailable, "not ready"))
}

extension GatewayResponse {
    fileprivate static func health(
        _ status: HTTPResponse.Status, _ word: StaticString, details: String = ""
    ) -> GatewayResponse {
        GatewayResponse(
            status, headers: [.contentType: "application/json", .cacheControl: "no-store"],
            body: Array("{\"status\":\"\(word)\"\(details)}".utf8))
    }
}
