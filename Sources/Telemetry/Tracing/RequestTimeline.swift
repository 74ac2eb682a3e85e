import Synchronization
import Tracing

/// Where the time of one request went: for the log of slow requests, and as spans of its trace where that is sampled.
///
/// Steps nest: `adapter` contains the calls of the store and of other systems that the adapter makes.
public final class RequestTimeline: Sendable {
    /// The timeline of the task at hand, and of the tasks that it starts; nil: nothing is measured.
    @TaskLocal public static var current: RequestTimeline?

    /// A step of a request that takes time.
    public enum Step: Int, CaseIterable, Sendable {
        /// Waiting for a share of concurrent requests.
        case queue
        /// Waiting for mirrored rows that are fresh enough, or for a change of them in the other system.
        case mirrors
        /// The body's arrival.
        case body
        /// The look-up of the caller, where memory does not know it, and sign-ins: a password's hash with the wait for its turn.
        case identity
        /// An adapter's operation or mount.
        case adapter
        /// A read of the store.
        case read
        /// A transaction, from its queue to the disk.
        case write
        /// A call of another system, to its head.
        case upstream

        /// As the log and spans show it.
        public var word: String { "\(self)" }
    }

    /// The number of times that a step was taken, and the time of all of them together.
    public struct Total: Sendable, Equatable {
        public let step: Step
        public let count: Int
        public let nanoseconds: Int64
    }

    private let start = ContinuousClock.now
    private let counts = InlineArray<8, Atomic<Int>> { _ in Atomic(0) }
    private let nanoseconds = InlineArray<8, Atomic<Int64>> { _ in Atomic(0) }
    /// When the step that is under way began, in nanoseconds since the start; 0: none is. Of several at once the last.
    private let began = InlineArray<8, Atomic<Int64>> { _ in Atomic(0) }
    /// Makes a span of each step; nil: the trace is not sampled, or there is none.
    private let tracer: SpanTracer?

    /// Nothing measured yet. `tracer`: of a sampled trace.
    public init(tracer: SpanTracer? = nil) {
        self.tracer = tracer
    }

    /// The measured steps, those under way up to now included. In the order of the steps, without those that were not taken.
    public func totals(at now: ContinuousClock.Instant) -> [Total] {
        Step.allCases.compactMap { step in
            let began = began[step.rawValue].load(ordering: .relaxed)
            let open = began > 0 ? max(0, start.duration(to: now).wholeNanoseconds &- began) : 0
            let count = counts[step.rawValue].load(ordering: .relaxed)
            guard count > 0 else { return nil }
            return Total(
                step: step, count: count,
                nanoseconds: nanoseconds[step.rawValue].load(ordering: .relaxed) &+ open)
        }
    }

    private func begin(_ step: Step) -> Int64 {
        let now = max(1, start.duration(to: .now).wholeNanoseconds)
        counts[step.rawValue].wrappingAdd(1, ordering: .relaxed)
        began[step.rawValue].store(now, ordering: .relaxed)
        return now
    }

    private func end(_ step: Step, since begin: Int64) {
        let elapsed = start.duration(to: .now).wholeNanoseconds &- begin
        nanoseconds[step.rawValue].wrappingAdd(elapsed, ordering: .relaxed)
        _ = began[step.rawValue].compareExchange(expected: begin, desired: 0, ordering: .relaxed)
    }

    /// Measures `body` as a step of the current request, if there is one. In a sampled trace it is a span of this name.
    public static func measure<Result>(
        _ step: Step, _ name: @autoclosure () -> String, isolation: isolated (any Actor)? = #isolation,
        _ body: () async throws -> Result
    ) async rethrows -> Result {
        guard let timeline = current else { return try await body() }
        let begin = timeline.begin(step)
        defer { timeline.end(step, since: begin) }
        guard let tracer = timeline.tracer else { return try await body() }
        let span = tracer.startSpan(
            name(), context: ServiceContext.current ?? .topLevel, ofKind: step == .upstream ? .client : .internal)
        defer { span.end() }
        return try await ServiceContext.withValue(span.context, isolation: isolation) {
            do {
                return try await body()
            } catch {
                span.setStatus(SpanStatus(code: .error))
                throw error
            }
        }
    }
}

extension Duration {
    /// Nanoseconds of a span that a process lives through.
    var wholeNanoseconds: Int64 {
        components.seconds &* 1_000_000_000 &+ components.attoseconds / 1_000_000_000
    }
}
