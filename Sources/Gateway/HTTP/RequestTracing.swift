import AdapterKit
import HTTPTypes
import Telemetry
import Tracing

/// The following of requests: in traces, and by the time that their steps take.
struct RequestTracing: Sendable {
    /// Nil: spans are not recorded.
    let tracer: SpanTracer?
    /// `log.slow`: a request that takes as long has a line with its steps; nil: none has.
    let slow: Duration?

    /// The request's own place in its trace, with its caller's; nil where there is no tracer.
    func place(_ fields: HTTPFields) -> RequestPlace? {
        guard let tracer else { return nil }
        let parent = fields.text(.traceParent).flatMap { TraceParent($0) }
        let state = parent == nil ? nil : TraceState.propagated(fields[.traceState])
        return RequestPlace(own: tracer.place(after: parent), parent: parent, state: state)
    }

    /// Measures a request that is dispatched; nil: nothing asks for it.
    func timeline(for place: RequestPlace?) -> RequestTimeline? {
        let isSampled = place?.own.isSampled ?? false
        guard slow != nil || isSampled else { return nil }
        return RequestTimeline(tracer: isSampled ? tracer : nil)
    }

    /// The context that tasks of the request have as the current span; nil where it is not sampled.
    func context(of place: RequestPlace?) -> ServiceContext? {
        guard let place, place.own.isSampled else { return nil }
        var context = ServiceContext.topLevel
        context.traceParent = place.own
        context.traceState = place.state
        return context
    }

    /// The span of a request that has been answered. `path` is what the log shows of it.
    func record(
        _ request: GatewayRequest, at endpoint: String, _ status: HTTPResponse.Status,
        _ refusal: AccessRecord.Refusal?, path: @autoclosure () -> String, after elapsed: Duration
    ) {
        guard let tracer, let place = request.place, place.own.isSampled else { return }
        let now = DefaultTracerClock.now.nanosecondsSinceEpoch
        let span = tracer.startSpan(
            endpoint, at: place.own, after: place.parent, state: place.state, ofKind: .server,
            since: now &- UInt64(clamping: elapsed.nanoseconds))
        var attributes: SpanAttributes = [
            "http.request.method": .string(request.method.rawValue),
            "http.response.status_code": .int64(Int64(status.code)), "url.path": .string(path()),
            "url.scheme": .string(request.scheme), "portico.request_id": .string(request.id),
        ]
        if let refusal { attributes["error.type"] = refusal.code }
        span.attributes = attributes
        if status.code >= 500 { span.setStatus(SpanStatus(code: .error)) }
        span.end(at: now)
    }
}

/// Where a request is in its trace.
final class RequestPlace: Sendable {
    let own: TraceParent
    let parent: TraceParent?
    let state: String?

    init(own: TraceParent, parent: TraceParent?, state: String?) {
        self.own = own
        self.parent = parent
        self.state = state
    }
}
