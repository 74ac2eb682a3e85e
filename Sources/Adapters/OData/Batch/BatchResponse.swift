import AdapterKit
import Synchronization

/// Writes the response of a batch: small responses as one buffer, large ones as a stream.
///
/// All requests that may change something run before the response starts, so that they do not depend on whether the
/// client reads it. The remaining reads run one after the other while the response is sent.
struct BatchResponse {
    var status = 200
    /// Bytes of an answer that is made whole.
    let most: Int
    /// For how long answers are read while they are sent.
    let time: Duration

    func made(of walk: BatchExecution, _ writer: any BatchWriter) async throws -> MountResponse {
        var (walk, writer) = (walk, writer)
        var first = writer.beginning()
        while !walk.onlyReads, let outcome = try await walk.next() {
            first += writer.whole(await walk.run.gathered(outcome))
        }
        let pieces = BatchPieces(walk, writer, until: .now + time)
        let headers = writer.headers
        while first.count <= most {
            guard let piece = try await pieces.next() else {
                return MountResponse(status, headers: headers, body: first)
            }
            first += piece
        }
        return MountResponse(status, headers: headers, body: .stream(PrefetchedBody(first, pieces)))
    }
}

/// The responses of a batch's remaining reads. Each read starts when the client has taken the responses before it.
///
/// It owns the task of the current read: ``end()`` cancels it, and so does the time limit for the whole response.
final class BatchPieces: ByteStream {
    private struct State {
        var walk: BatchExecution
        var writer: any BatchWriter
        /// The body that is being sent.
        var open: (any ByteStream)?
        /// The request that is being answered.
        var step: Task<Step, any Error>?
        var hasEnded = false
    }

    private struct Step: Sendable {
        let walk: BatchExecution
        let outcome: BatchOutcome?
    }

    private let state: Mutex<State>
    private let deadline: ContinuousClock.Instant
    /// Pieces are asked for outside of the request's task.
    private let caller = CallerIdentity.current

    init(_ walk: BatchExecution, _ writer: any BatchWriter, until deadline: ContinuousClock.Instant) {
        state = Mutex(State(walk: walk, writer: writer))
        self.deadline = deadline
    }

    private static let tooLong = PorticoError(.deadlineExceeded, "The answer took too long to be taken.")

    func next() async throws -> [UInt8]? {
        if let open = state.withLock({ $0.open }) {
            if let piece = try await open.next() { return piece }
            return state.withLock { state in
                state.open = nil
                return state.writer.closing()
            }
        }
        guard let step = begin() else { return nil }
        let done = try await withTaskCancellationHandler {
            try await step.value
        } onCancel: {
            step.cancel()
        }
        state.withLock { ($0.walk, $0.step) = (done.walk, nil) }
        guard let outcome = done.outcome else { return end { $0.writer.ending() } }
        return await bytes(of: outcome)
    }

    private func begin() -> Task<Step, any Error>? {
        state.withLock { state in
            guard !state.hasEnded else { return nil }
            let (walk, time, caller) = (state.walk, deadline - .now, caller)
            let step = Task {
                try await CallerIdentity.$current.withValue(caller) {
                    try await TimeLimit.run(time, late: Self.tooLong) {
                        var walk = walk
                        let outcome = try await walk.next()
                        return Step(walk: walk, outcome: outcome)
                    }
                }
            }
            state.step = step
            return step
        }
    }

    private func bytes(of outcome: BatchOutcome) async -> [UInt8] {
        guard case .reply(let reply) = outcome, case .stream(let pieces) = reply.answer.body,
            let head = state.withLock({ $0.writer.opening(reply) })
        else {
            if case .reply(let reply) = outcome, case .stream(let pieces) = reply.answer.body { open(pieces) }
            let whole = await state.withLock({ $0.walk.run }).gathered(outcome)
            return state.withLock { state in
                state.open = nil
                return state.writer.whole(whole)
            }
        }
        open(pieces)
        return head
    }

    /// From now on ``end()`` ends them.
    private func open(_ pieces: any ByteStream) {
        let isWanted = state.withLock { state in
            state.open = pieces
            return !state.hasEnded
        }
        if !isWanted { pieces.cancel() }
    }

    func cancel() { _ = end { _ in [] } }

    private func end(_ last: (inout State) -> [UInt8]) -> [UInt8] {
        let (bytes, open, step) = state.withLock { state in
            state.hasEnded = true
            defer { state.step = nil }
            return (last(&state), state.open, state.step)
        }
        open?.cancel()
        step?.cancel()
        return bytes
    }
}

/// Errors of single requests within a batch, as responses.
enum BatchFailure {
    static func answer(_ error: any Error, requestID: String = "") -> MountResponse {
        switch error {
        case let failure as ODataError:
            var answer = answer(failure.error, failure.details, requestID, status: failure.status)
            for field in failure.headers.fields { answer.headers[field.name] = field.value }
            return answer
        case let error as PorticoError: return answer(error, [], requestID, status: nil)
        default: return answer(PorticoError(.serverInternal, "The request failed."), [], requestID, status: nil)
        }
    }

    /// A request that another one's failure kept from being made (JSON Format 4.01, section 19.1).
    static var dependency: MountResponse {
        answer(PorticoError(.requestInvalid, "A request that this one goes with failed."), [], "", status: 424)
    }

    private static func answer(
        _ error: PorticoError, _ details: [PorticoError], _ requestID: String, status: Int?
    ) -> MountResponse {
        MountResponse(
            status ?? Self.status(error.code), headers: ["Content-Type": "application/json", "OData-Version": "4.01"],
            body: ODataError.body(error, details: details, requestID: requestID))
    }

    /// As the gateway has it.
    static func status(_ code: ErrorCode) -> Int {
        switch code {
        case .routeNotFound, .recordNotFound: 404
        case .methodNotAllowed: 405
        case .notAcceptable, .notRepresentable: 406
        case .loginRequired, .credentialsInvalid: 401
        case .accessDenied, .csrfRequired, .confirmationRequired: 403
        case .recordExists, .recordConflict: 409
        case .fetchAgain: 410
        case .preconditionFailed: 412
        case .requestTooLarge: 413
        case .unsupportedMediaType, .unsupportedEncoding: 415
        case .requestMisdirected: 421
        case .keyReused: 422
        case .loginThrottled, .rateLimited: 429
        case .deadlineExceeded, .upstreamTimeout, .upstreamOutcomeUnknown: 504
        case .upstreamFailed: 502
        case .overloaded, .stopping, .storeUnavailable, .adapterUnavailable: 503
        case .storeFull: 507
        case .serverInternal: 500
        default: 400
        }
    }
}
