import AdapterKit
import Tracing
import ValueTree
import WireFormats

/// Sends spans to a collector as OTLP in JSON. Source: OpenTelemetry Protocol 1.3, "OTLP/HTTP", and the JSON mapping of
/// `opentelemetry/proto/trace/v1/trace.proto`.
public struct OTLPExporter: Sendable {
    /// Sends one request's body. Throws where the collector has not taken it.
    public typealias Transport = @Sendable ([UInt8]) async throws -> Void

    /// Spans of one request.
    private static let mostAtOnce = 512

    private let queue: SpanQueue
    private let version: String
    private let interval: Duration
    private let log: Log
    private let send: Transport

    /// `interval`: how long a span waits at most for others.
    public init(
        _ queue: SpanQueue, version: String, interval: Duration, log: Log, send: @escaping Transport
    ) {
        self.queue = queue
        self.version = version
        self.interval = interval
        self.log = log
        self.send = send
    }

    /// Exports until the task is cancelled. What waits then is left to ``flush()``.
    public func run() async {
        var isFailing = false
        while (try? await Task.sleep(for: interval)) != nil { await flush(&isFailing) }
    }

    /// Exports what waits now.
    public func flush() async {
        var isFailing = false
        await flush(&isFailing)
    }

    /// One line when failing begins and one when it ends: the queue counts the spans.
    private func flush(_ isFailing: inout Bool) async {
        while true {
            let spans = queue.take(atMost: Self.mostAtOnce)
            guard !spans.isEmpty else { return }
            do {
                try await send(try JSONFormat().write(Self.document(spans, version: version)))
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
