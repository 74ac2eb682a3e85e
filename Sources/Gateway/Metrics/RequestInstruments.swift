import AdapterKit
import CoreMetrics
import HTTPTypes
import Synchronization
import Telemetry

/// Counts requests: of each endpoint, and refusals by their code. No lock and, but for the first request of its kind, no
/// allocation.
final class RequestInstruments: Sendable {
    /// The protocols that requests come by.
    enum Transport: Int, CaseIterable {
        case http1, http2, batch

        fileprivate var word: String { "\(self)" }
    }

    private static let statusClasses = 5

    private let labels: [String]
    private let factory: any MetricsFactory
    /// By format, protocol and class of the status.
    private let counters = InlineArray<135, AtomicLazyReference<Counter>> { _ in AtomicLazyReference() }
    private let duration = AtomicLazyReference<CoreMetrics.Timer>()

    /// `adapter` nil: the gateway itself.
    init(adapter: AdapterName?, operation: String, in factory: any MetricsFactory) {
        labels = [adapter?.text ?? "gateway", operation]
        self.factory = factory
    }

    /// `duration` nil: it says nothing, as that of an event stream.
    func note(
        _ status: HTTPResponse.Status, _ format: ResponseFormatLabel, _ transport: Transport, _ duration: Duration?
    ) {
        let statusClass = min(max(status.code / 100, 1), Self.statusClasses)
        let cell =
            (format.rawValue * Transport.allCases.count + transport.rawValue) * Self.statusClasses + statusClass - 1
        let counter =
            counters[cell].load()
            ?? counters[cell].storeIfNil(
                MetricCatalogue.requests.counter(
                    labels + [format.word, transport.word, "\(statusClass)xx"], in: factory))
        counter.increment()
        guard let duration else { return }
        let timer =
            self.duration.load()
            ?? self.duration.storeIfNil(MetricCatalogue.requestDuration.timer(labels, in: factory))
        timer.recordNanoseconds(duration.nanoseconds)
    }
}

/// Counts of requests, whichever endpoint they reach.
final class RequestMetrics: Sendable {
    let factory: any MetricsFactory
    /// Counts of requests that reach no endpoint. One series for all unknown paths and methods.
    private let unrouted: RequestInstruments
    private let refusals: [ErrorCode: Counter]

    init(_ factory: any MetricsFactory) {
        self.factory = factory
        unrouted = RequestInstruments(adapter: nil, operation: "none", in: factory)
        refusals = Dictionary(
            ErrorCode.allCases.map { ($0, MetricCatalogue.refusals.counter([$0.rawValue], in: factory)) },
            uniquingKeysWith: { first, _ in first })
    }

    func note(
        _ status: HTTPResponse.Status, _ format: ResponseFormatLabel, _ transport: RequestInstruments.Transport,
        _ refusal: AccessRecord.Refusal?, at instruments: RequestInstruments?, after duration: Duration?
    ) {
        (instruments ?? unrouted).note(status, format, transport, duration)
        if let refusal { refusals[refusal.errorCode]?.increment() }
    }
}

/// The format of a response's body as a label.
enum ResponseFormatLabel: Int, CaseIterable, Sendable {
    case json, plist, bplist, xml, cbor, html, text, other, none

    /// `contentType`: the field of the response, which the gateway or an adapter has written.
    init(contentType: String?) {
        guard var contentType else {
            self = .none
            return
        }
        self = contentType.withUTF8 { field in
            let type = field.prefix { $0 != UInt8(ascii: ";") && $0 != UInt8(ascii: " ") }
            return Self.known.first { $0.0.utf8.count == type.count && $0.0.utf8.elementsEqual(type) }?.1 ?? .other
        }
    }

    private static let known: [(String, ResponseFormatLabel)] = [
        ("application/json", .json), ("application/x-plist", .plist), ("application/plist", .plist),
        ("application/x-apple-plist", .plist), ("text/x-apple-plist+xml", .plist),
        ("application/x-apple-binary-plist", .bplist), ("application/xml", .xml), ("text/xml", .xml),
        ("application/atom+xml", .xml), ("application/cbor", .cbor),
        ("text/html", .html), ("text/plain", .text), ("multipart/mixed", .other),
    ]

    var word: String { "\(self)" }
}

extension GatewayResponse {
    var formatLabel: ResponseFormatLabel {
        status == .noContent || status == .notModified
            ? .none : ResponseFormatLabel(contentType: headers.text(.contentType))
    }
}

extension Duration {
    /// Nanoseconds of a span that a process lives through.
    var nanoseconds: Int64 {
        components.seconds &* 1_000_000_000 &+ components.attoseconds / 1_000_000_000
    }
}

/// Counts of sync.
struct SyncInstruments: Sendable {
    private let pulls: [String: Counter]
    private let operations: Counter
    private let done: Counter
    private let failed: Counter
    private let mutations: [String: Counter]

    init(_ factory: any MetricsFactory) {
        func counters(_ definition: MetricDefinition, _ words: [String]) -> [String: Counter] {
            Dictionary(
                words.map { ($0, definition.counter([$0], in: factory)) }, uniquingKeysWith: { first, _ in first })
        }
        pulls = counters(MetricCatalogue.pulls, ["complete", "partial", "reset", "failed"])
        operations = MetricCatalogue.pulledOperations.counter(in: factory)
        done = MetricCatalogue.pushes.counter(["done"], in: factory)
        failed = MetricCatalogue.pushes.counter(["failed"], in: factory)
        mutations = counters(MetricCatalogue.mutations, ["applied", "merged", "conflict", "rejected", "retry"])
    }

    /// `isReset`: the device starts a collection over.
    func notePull(operations count: Int, isComplete: Bool, isReset: Bool) {
        pulls[isReset ? "reset" : isComplete ? "complete" : "partial"]?.increment()
        operations.increment(by: count)
    }

    func noteFailedPull() { pulls["failed"]?.increment() }

    func notePush(_ outcomes: some Sequence<String>) {
        done.increment()
        for outcome in outcomes { mutations[outcome]?.increment() }
    }

    func noteFailedPush() { failed.increment() }
}

/// Counts of sign-ins.
struct SignInInstruments: Sendable {
    enum Method: String {
        case password, provider
    }

    private let factory: any MetricsFactory

    init(_ factory: any MetricsFactory) {
        self.factory = factory
    }

    /// Counts how `body` ended.
    func count<Result>(_ method: Method, _ body: () async throws -> Result) async throws -> Result {
        do {
            let result = try await RequestTimeline.measure(.identity, "sign-in") { try await body() }
            note(method, "accepted")
            return result
        } catch {
            switch (error as? PorticoError)?.code {
            case .credentialsInvalid: note(method, "refused")
            case .loginThrottled: note(method, "throttled")
            default: note(method, "failed")
            }
            throw error
        }
    }

    /// A sign-in costs a password's hash; looking its counter up is nothing beside it.
    private func note(_ method: Method, _ result: String) {
        MetricCatalogue.signIns.counter([method.rawValue, result], in: factory).increment()
    }
}
