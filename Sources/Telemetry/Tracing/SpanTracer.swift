import Synchronization
import Tracing

/// The tracer of swift-distributed-tracing: makes spans of sampled traces and gives them to a ``SpanQueue`` when they end.
///
/// The place in the trace is ``ServiceContext/traceParent``. Sampling is by the parent where a caller names a trace and its
/// word counts (``Sampling``), else by the ratio.
public final class SpanTracer: Tracer {
    public typealias Span = RecordedSpan

    private let sampling: Sampling
    private let queue: SpanQueue
    private let random: @Sendable () -> UInt64

    /// `random` gives 64 random bits.
    public init(
        _ sampling: Sampling, queue: SpanQueue,
        random: @escaping @Sendable () -> UInt64 = { TraceNumbers.shared.next() }
    ) {
        self.sampling = sampling
        self.queue = queue
        self.random = random
    }

    /// The request's own place in its trace: a new span of the caller's, or the first of a new trace.
    public func place(after parent: TraceParent?) -> TraceParent {
        guard let parent else {
            let begun = TraceParent(newTrace: random, isSampled: false)
            return TraceParent(in: begun, isSampled: sampling.isSampled(begun, parent: nil), random: random)
        }
        return TraceParent(in: parent, isSampled: sampling.isSampled(parent, parent: parent), random: random)
    }

    /// A span at a place that is known already, as a request's is.
    public func startSpan(
        _ name: String, at place: TraceParent, after parent: TraceParent?, state: String?, ofKind kind: SpanKind,
        since nanoseconds: UInt64
    ) -> RecordedSpan {
        var context = ServiceContext.topLevel
        context.traceParent = place
        context.traceState = state
        return RecordedSpan(name, context, place, parent?.span, kind, since: nanoseconds, to: queue)
    }

    public func startSpan<Instant: TracerInstant>(
        _ operationName: String, context: @autoclosure () -> ServiceContext, ofKind kind: SpanKind,
        at instant: @autoclosure () -> Instant, function: String, file fileID: String, line: UInt
    ) -> RecordedSpan {
        var context = context()
        let parent = context.traceParent
        let place =
            parent.map { TraceParent(in: $0, isSampled: $0.isSampled, random: random) } ?? self.place(after: nil)
        context.traceParent = place
        return RecordedSpan(
            operationName, context, place, parent?.span, kind, since: instant().nanosecondsSinceEpoch, to: queue)
    }

    public func forceFlush() {}

    public func extract<Carrier, Extract: Extractor>(
        _ carrier: Carrier, into context: inout ServiceContext, using extractor: Extract
    ) where Extract.Carrier == Carrier {
        guard let parent = extractor.extract(key: "traceparent", from: carrier).flatMap({ TraceParent($0) }) else {
            return
        }
        context.traceParent = parent
        context.traceState = TraceState.propagated(extractor.extract(key: "tracestate", from: carrier))
    }

    public func inject<Carrier, Inject: Injector>(
        _ context: ServiceContext, into carrier: inout Carrier, using injector: Inject
    ) where Inject.Carrier == Carrier {
        guard let place = context.traceParent else { return }
        injector.inject(place.text, forKey: "traceparent", into: &carrier)
        if let state = context.traceState { injector.inject(state, forKey: "tracestate", into: &carrier) }
    }
}

/// Which traces are recorded: parent-based, with a ratio for traces that begin here.
public struct Sampling: Sendable, Equatable {
    /// `traces.ratio`: the share of traces that begin here, from 0 to 1.
    public var ratio: Double
    /// `traces.followCallers`: whether a caller that names a trace decides for it.
    public var followsCallers: Bool

    public init(ratio: Double, followsCallers: Bool) {
        self.ratio = ratio
        self.followsCallers = followsCallers
    }

    func isSampled(_ place: TraceParent, parent: TraceParent?) -> Bool {
        if let parent, followsCallers { return parent.isSampled }
        return place.position < ratio
    }
}

private enum TraceParentKey: ServiceContextKey {
    typealias Value = TraceParent
}

private enum TraceStateKey: ServiceContextKey {
    typealias Value = String
}

extension ServiceContext {
    /// The span that is current; nil: none of a trace that is known.
    public var traceParent: TraceParent? {
        get { self[TraceParentKey.self] }
        set { self[TraceParentKey.self] = newValue }
    }

    /// The state that goes on with it.
    public var traceState: String? {
        get { self[TraceStateKey.self] }
        set { self[TraceStateKey.self] = newValue }
    }
}

/// A span that is under way. Attributes and events are limited; what exceeds the limit is dropped.
public final class RecordedSpan: Span {
    private static let mostAttributes = 32
    private static let mostEvents = 16

    private struct Content {
        var name: String
        var attributes = SpanAttributes()
        var status: SpanStatus?
        var events: [SpanEvent] = []
        var hasEnded = false
    }

    public let context: ServiceContext
    private let place: TraceParent
    private let parent: String?
    private let kind: SpanKind
    private let start: UInt64
    private let queue: SpanQueue
    private let content: Mutex<Content>

    init(
        _ name: String, _ context: ServiceContext, _ place: TraceParent, _ parent: String?, _ kind: SpanKind,
        since start: UInt64, to queue: SpanQueue
    ) {
        self.context = context
        self.place = place
        self.parent = parent
        self.kind = kind
        self.start = start
        self.queue = queue
        content = Mutex(Content(name: name))
    }

    public var isRecording: Bool { place.isSampled && !content.withLock { $0.hasEnded } }

    public var operationName: String {
        get { content.withLock { $0.name } }
        set { content.withLock { $0.name = newValue } }
    }

    public var attributes: SpanAttributes {
        get { content.withLock { $0.attributes } }
        set { content.withLock { if newValue.count <= Self.mostAttributes { $0.attributes = newValue } } }
    }

    public func setStatus(_ status: SpanStatus) { content.withLock { $0.status = status } }

    public func addEvent(_ event: SpanEvent) {
        content.withLock { if $0.events.count < Self.mostEvents { $0.events.append(event) } }
    }

    /// The type of the error alone: its text may hold what a caller sent.
    public func recordError<Instant: TracerInstant>(
        _ error: any Error, attributes: SpanAttributes, at instant: @autoclosure () -> Instant
    ) {
        addEvent(SpanEvent(name: "exception", attributes: ["exception.type": "\(type(of: error))"]))
    }

    /// Links lead to other traces; none are exported.
    public func addLink(_ link: SpanLink) {}

    public func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant) {
        end(at: instant().nanosecondsSinceEpoch)
    }

    /// The second end does nothing.
    public func end(at nanoseconds: UInt64) {
        let ended = content.withLock { content -> Content? in
            guard !content.hasEnded else { return nil }
            content.hasEnded = true
            return content
        }
        guard place.isSampled, let ended else { return }
        var attributes: [(String, SpanAttribute)] = []
        func collect(_ name: String, _ value: SpanAttribute) { attributes.append((name, value)) }
        ended.attributes.forEach(collect)
        queue.add(
            FinishedSpan(
                place: place, parent: parent, state: context.traceState, name: ended.name, kind: kind, start: start,
                end: max(start, nanoseconds), attributes: attributes, events: ended.events.map(\.name),
                isError: ended.status?.code == .error))
    }
}

/// A span as it is exported.
public struct FinishedSpan: Sendable {
    let place: TraceParent
    let parent: String?
    let state: String?
    let name: String
    let kind: SpanKind
    /// In nanoseconds since 1970.
    let start: UInt64
    let end: UInt64
    let attributes: [(String, SpanAttribute)]
    let events: [String]
    let isError: Bool
}

/// Spans that wait to be exported: as many as the limit says. What comes while it is full is dropped and counted.
public final class SpanQueue: Sendable {
    private struct State {
        var limit: Int
        var spans: [FinishedSpan] = []
        var dropped: UInt64 = 0
        var exported: UInt64 = 0
        var failed: UInt64 = 0
    }

    private let state: Mutex<State>

    /// `limit`: how many spans wait, at least one (`traces.queue`).
    public init(limit: Int) {
        state = Mutex(State(limit: max(1, limit)))
    }

    /// Changes the limit. Spans that wait already stay.
    public func use(limit: Int) { state.withLock { $0.limit = max(1, limit) } }

    func add(_ span: FinishedSpan) {
        state.withLock { state in
            guard state.spans.count < state.limit else {
                state.dropped += 1
                return
            }
            state.spans.append(span)
        }
    }

    /// The oldest, at most so many.
    func take(atMost count: Int) -> [FinishedSpan] {
        state.withLock { state in
            guard state.spans.count > count else {
                defer { state.spans = [] }
                return state.spans
            }
            let taken = Array(state.spans.prefix(count))
            state.spans = Array(state.spans.dropFirst(count))
            return taken
        }
    }

    func note(exported count: Int) { state.withLock { $0.exported += UInt64(count) } }
    func note(failed count: Int) { state.withLock { $0.failed += UInt64(count) } }

    /// Spans since the start by what became of them, and those that wait.
    public var figures: (exported: UInt64, failed: UInt64, dropped: UInt64, waiting: Int) {
        state.withLock { ($0.exported, $0.failed, $0.dropped, $0.spans.count) }
    }
}
