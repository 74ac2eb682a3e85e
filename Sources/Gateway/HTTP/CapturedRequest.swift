import AdapterKit
import MirrorEngine
import Telemetry
import Tracing

/// A request that a task works for, captured for a task of another owner that goes on with the work.
struct CapturedRequest: Sendable {
    private let call = CallContext.current
    private let timeline = RequestTimeline.current
    private let span = ServiceContext.current

    /// Runs `body` for the request. What it asks other systems may outlive the request, and ends with their own deadlines.
    func run<Result: Sendable>(_ body: @Sendable () async throws -> Result) async throws -> Result {
        var call = call
        call?.deadline = .now + CallThroughCalls.longestCall
        return try await CallContext.$current.withValue(call) {
            try await RequestTimeline.$current.withValue(timeline) {
                try await ServiceContext.withValue(span) { try await body() }
            }
        }
    }
}
