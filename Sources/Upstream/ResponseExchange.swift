import AdapterKit
import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// One request on its connection: AsyncHTTPClient's callbacks as a head and pieces of a body that are asked for.
///
/// The callbacks come on an event loop. A piece that was not asked for yet holds up the connection, so at most one is
/// kept. One task at a time waits for the head or for a piece.
final class ResponseExchange: HTTPClientResponseDelegate {
    typealias Response = Void

    private enum Waiter {
        case head(CheckedContinuation<HTTPResponseHead, any Error>)
        case piece(CheckedContinuation<ByteBuffer?, any Error>)
    }

    /// The end of the wait under way. A later wait's end is later, so the timer of an earlier one looks at it and is set
    /// again where it has to: one timer for an exchange, not one for each piece.
    private struct Alarm {
        var until: ContinuousClock.Instant?
        var timer: (at: ContinuousClock.Instant, scheduled: Scheduled<Void>)?
    }

    private struct State {
        var task: HTTPClient.Task<Void>?
        var head: HTTPResponseHead?
        var piece: (buffer: ByteBuffer, taken: EventLoopPromise<Void>)?
        var end: Result<Void, any Error>?
        var waiter: Waiter?
        var alarm = Alarm()
        var isSent = false

        mutating func takeWaiter() -> Waiter? {
            alarm.until = nil
            defer { waiter = nil }
            return waiter
        }

        mutating func takeTimer() -> Scheduled<Void>? {
            defer { alarm.timer = nil }
            return alarm.timer?.scheduled
        }
    }

    private let state = Mutex(State())
    /// The failure that ends a wait which takes too long.
    private let late: UpstreamFailure
    /// Ends what feeds the request's body.
    private let source: (any ByteStream)?

    init(late: UpstreamFailure, source: (any ByteStream)?) {
        self.late = late
        self.source = source
    }

    func begin(_ request: HTTPClient.Request, with client: HTTPClient) {
        let task = client.execute(request: request, delegate: self)
        let failure = state.withLock { state -> (any Error)? in
            guard let end = state.end else {
                state.task = task
                return nil
            }
            if case .failure(let error) = end { return error }
            return nil
        }
        if let failure { task.fail(reason: failure) }
    }

    /// Whether some of the request was written to a connection.
    var isSent: Bool { state.withLock { $0.isSent } }

    /// The head of the answer, at most until `end`.
    func head(until end: ContinuousClock.Instant) async throws -> HTTPResponseHead {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let known = state.withLock { state -> Result<HTTPResponseHead, any Error>? in
                    if let head = state.head { return .success(head) }
                    if case .failure(let error) = state.end { return .failure(error) }
                    state.waiter = .head(continuation)
                    setAlarm(end, &state)
                    return nil
                }
                if let known { continuation.resume(with: known) }
            }
        } onCancel: {
            fail(CancellationError())
        }
    }

    /// The next piece of the body, at most until `end`; nil: the body is complete.
    func next(until end: ContinuousClock.Instant) async throws -> ByteBuffer? {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let (known, taken) = state.withLock {
                    state -> (Result<ByteBuffer?, any Error>?, EventLoopPromise<Void>?) in
                    if let piece = state.piece {
                        state.piece = nil
                        return (.success(piece.buffer), piece.taken)
                    }
                    if let end = state.end { return (end.map { nil }, nil) }
                    state.waiter = .piece(continuation)
                    setAlarm(end, &state)
                    return (nil, nil)
                }
                taken?.succeed()
                if let known { continuation.resume(with: known) }
            }
        } onCancel: {
            fail(CancellationError())
        }
    }

    /// Ends the request: the connection is closed unless the answer is complete.
    func fail(_ error: any Error) {
        let (waiter, taken, task, timer) = state.withLock { state in
            if state.end == nil { state.end = .failure(error) }
            let parts = (state.takeWaiter(), state.piece?.taken, state.task, state.takeTimer())
            state.piece = nil
            state.task = nil
            return parts
        }
        timer?.cancel()
        taken?.succeed()
        task?.fail(reason: error)
        source?.cancel()
        Self.resume(waiter, failing: error)
    }

    /// Where a task waits. On the loop of the connection, which is awake for the request.
    private func setAlarm(_ until: ContinuousClock.Instant, _ state: inout State) {
        state.alarm.until = until
        if let timer = state.alarm.timer {
            guard until < timer.at else { return }
            timer.scheduled.cancel()
        }
        let loop = state.task?.eventLoop ?? MultiThreadedEventLoopGroup.singleton.any()
        let left = max(ContinuousClock.now.duration(to: until), .zero)
        state.alarm.timer = (until, loop.scheduleTask(in: TimeAmount(left)) { [self] in ring() })
    }

    private func ring() {
        let isLate = state.withLock { state in
            state.alarm.timer = nil
            guard let until = state.alarm.until else { return false }
            guard until > .now else { return true }
            setAlarm(until, &state)
            return false
        }
        if isLate { fail(late) }
    }

    private static func resume(_ waiter: Waiter?, failing error: any Error) {
        switch waiter {
        case .head(let continuation): continuation.resume(throwing: error)
        case .piece(let continuation): continuation.resume(throwing: error)
        case nil: break
        }
    }
}

/// Calls of AsyncHTTPClient.
extension ResponseExchange {
    func didSendRequestHead(task: HTTPClient.Task<Void>, _ head: HTTPRequestHead) {
        state.withLock { $0.isSent = true }
    }

    func didReceiveHead(task: HTTPClient.Task<Void>, _ head: HTTPResponseHead) -> EventLoopFuture<Void> {
        let waiter = state.withLock { state in
            state.head = head
            return state.takeWaiter()
        }
        if case .head(let continuation) = waiter { continuation.resume(returning: head) }
        return task.eventLoop.makeSucceededVoidFuture()
    }

    func didReceiveBodyPart(task: HTTPClient.Task<Void>, _ buffer: ByteBuffer) -> EventLoopFuture<Void> {
        let taken = task.eventLoop.makePromise(of: Void.self)
        let waiter = state.withLock { state -> Waiter? in
            guard state.end == nil else { return nil }
            guard let waiter = state.takeWaiter() else {
                state.piece = (buffer, taken)
                return nil
            }
            return waiter
        }
        if case .piece(let continuation) = waiter {
            continuation.resume(returning: buffer)
            taken.succeed()
        } else if state.withLock({ $0.end != nil }) {
            taken.succeed()
        }
        return taken.futureResult
    }

    func didFinishRequest(task: HTTPClient.Task<Void>) throws {
        let (waiter, timer) = state.withLock { state in
            if state.end == nil { state.end = .success(()) }
            state.task = nil
            return (state.takeWaiter(), state.takeTimer())
        }
        timer?.cancel()
        source?.cancel()
        if case .piece(let continuation) = waiter { continuation.resume(returning: nil) }
    }

    func didReceiveError(task: HTTPClient.Task<Void>, _ error: any Error) {
        fail(error)
    }
}
