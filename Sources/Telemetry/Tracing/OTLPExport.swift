import AdapterKit
import Synchronization
import Tracing
import ValueTree
import WireFormats

/// Sends spans to a collector as OTLP in JSON. Source: OpenTelemetry Protocol 1.3, "OTLP/HTTP", and the JSON mapping of
/// `opentelemetry/proto/trace/v1/trace.proto`.
public final class OTLPExporter: Sendable {
    /// Where spans go.
    public struct Destination: Sendable {
        /// The time that a span waits at most for others.
        public let interval: Duration
        /// Sends one request's body. Throws where the collector has not taken it.
        public let send: @Sendable ([UInt8]) async throws -> Void

        public init(interval: Duration, send: @escaping @Sendable ([UInt8]) async throws -> Void) {
            (self.interval, self.send) = (interval, send)
        }
    }

    private struct State {
        /// The last one: what waits when exporting ends goes there.
        var destination: Destination?
        /// Nil: nothing is exported.
        var interval: Duration?
    }

    /// Spans of one request.
    private static let mostAtOnce = 512

    private let queue: SpanQueue
    private let version: String
    private let log: Log
    private let state = Mutex(State())
    /// An element when an interval has passed, or the destination has changed.
    private let wakes = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))

    /// Exports nothing before ``use(_:)``.
    public init(_ queue: SpanQueue, version: String, log: Log) {
        self.queue = queue
        self.version = version
        self.log = log
    }

    /// Whether there is, or has been, somewhere to export to.
    public var isUsed: Bool { state.withLock { $0.destination != nil } }

    /// Spans go there from now on, those that wait too; nil: what waits goes to the one before, and nothing more.
    public func use(_ destination: Destination?) {
        state.withLock { state in
            state.destination = destination ?? state.destination
            state.interval = destination?.interval
        }
        wakes.continuation.yield()
    }

    /// Exports until the task is cancelled. What waits then is left to ``flush()``. To be called once.
    public func run() async {
        var isFailing = false
        var wakes = wakes.stream.makeAsyncIterator()
        while true {
            let isWoken = await withTaskGroup(of: Void.self) { group in
                if let interval = state.withLock({ $0.interval }) {
                    group.addTask {
                        if (try? await Task.sleep(for: interval)) != nil { self.wakes.continuation.yield() }
                    }
                }
                let wake: Void? = await wakes.next()
                group.cancelAll()
                return wake != nil
            }
            guard isWoken else { return }
            await flush(&isFailing)
        }
    }

    /// Exports what waits now.
    public func flush() async {
        var isFailing = false
        await flush(&isFailing)
    }

    /// One line when failing begins and one when it ends: the queue counts the spans.
    private func flush(_ isFailing: inout Bool) async {
        guard let destination = state.withLock({ $0.destination }) else { return }
        while true {
            let spans = queue.take(atMost: Self.mostAtOnce)
            guard !spans.isEmpty else { return }
            do {
                try await destination.send(try JSONFormat().write(Self.document(spans, version: version)))
                queue.note(exported: spans.count)
                if isFailing { log.info("traces are exported again") }
                isFailing = false
            } catch {
                queue.note(failed: spans.count)
                if !isFailing { log.warning("traces cannot be exported", ["detail": .text("\(error)")]) }
                isFailing = true
                return
            }
        }
    }

    static func document(_ spans: [FinishedSpan], version: String) -> WireValue {
        let resource: [(String, SpanAttribute)] = [
            ("service.name", .string("portico")), ("service.version", .string(version)),
        ]
        return [
            "resourceSpans": [
                [
                    "resource": ["attributes": attributes(resource)],
                    "scopeSpans": [
                        [
                            "scope": ["name": "portico", "version": .string(version)],
                            "spans": .array(spans.map(value)),
                        ]
                    ],
                ]
            ]
        ]
    }

    private static func value(_ span: FinishedSpan) -> WireValue {
        var members: WireDictionary = [
            "traceId": .string(span.place.trace), "spanId": .string(span.place.span), "name": .string(span.name),
            "kind": .int64(kind(span.kind)), "startTimeUnixNano": .string("\(span.start)"),
            "endTimeUnixNano": .string("\(span.end)"), "attributes": attributes(span.attributes),
            "flags": .int64(span.place.isSampled ? 1 : 0),
        ]
        if let parent = span.parent { members["parentSpanId"] = .string(parent) }
        if let state = span.state { members["traceState"] = .string(state) }
        if !span.events.isEmpty {
            members["events"] = .array(
                span.events.map { ["name": .string($0), "timeUnixNano": .string("\(span.end)")] })
        }
        // STATUS_CODE_ERROR; without a status it is unset.
        if span.isError { members["status"] = ["code": 2] }
        return .dictionary(members)
    }

    /// `SpanKind` of the protocol.
    private static func kind(_ kind: SpanKind) -> Int64 {
        switch kind {
        case .internal: 1
        case .server: 2
        case .client: 3
        case .producer: 4
        case .consumer: 5
        }
    }

    private static func attributes(_ attributes: [(String, SpanAttribute)]) -> WireValue {
        .array(
            attributes.sorted { $0.0 < $1.0 }.map { name, value in ["key": .string(name), "value": any(value)] })
    }

    /// `AnyValue`: 64-bit integers are texts in protobuf's JSON.
    private static func any(_ value: SpanAttribute) -> WireValue {
        switch value {
        case .int32(let number): ["intValue": .string("\(number)")]
        case .int64(let number): ["intValue": .string("\(number)")]
        case .double(let number) where number.isFinite: ["doubleValue": .double(number)]
        case .bool(let flag): ["boolValue": .bool(flag)]
        case .string(let text): ["stringValue": .string(text)]
        case .stringConvertible(let text): ["stringValue": .string("\(text)")]
        default: ["stringValue": .string("")]
        }
    }
}
