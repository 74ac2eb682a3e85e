import AdapterKit
import NIOCore

/// The body of a request that is still on its way: collected at most once, and never beyond its limit.
///
/// What arrives before it is collected is held, and the transport is asked for no more (``wantsMore``).
package final class IncomingBody: Sendable {
    /// Bytes that are held for a reader who has not come yet.
    static let held = 16 << 10

    /// As the head says; nil: it does not.
    package let announced: Int?
    private let eventLoop: any EventLoop
    private let pace: UploadRate
    private let state: NIOLoopBoundBox<State>

    private struct State {
        var bytes = ByteBuffer()
        var hasEnded = false
        var failure: PorticoError?
        /// While the body is collected.
        var reader: (limit: Int, began: NIODeadline, promise: EventLoopPromise<[UInt8]>)?
        var deadline: Scheduled<Void>?
        var wasCollected = false
        /// Tells the transport that more is wanted.
        var demand: (() -> Void)?
    }

    /// On the event loop.
    init(announced: Int?, pace: UploadRate, on eventLoop: any EventLoop, demand: @escaping () -> Void) {
        self.announced = announced
        self.pace = pace
        self.eventLoop = eventLoop
        state = NIOLoopBoundBox(State(demand: demand), eventLoop: eventLoop)
    }

    /// All of it. Throws `request.tooLarge` as soon as there is more than `limit`, `request.timeout` where it comes too
    /// slowly or has not come after `span`, and `request.malformed` where it breaks off or was collected before.
    package func collect(upTo limit: Int, within span: Duration? = nil) async throws -> [UInt8] {
        guard (announced ?? 0) <= limit else { throw PorticoError.bodyTooLarge(limit: limit) }
        let promise = eventLoop.makePromise(of: [UInt8].self)
        return try await withTaskCancellationHandler {
            eventLoop.execute { self.collect(upTo: limit, within: span, into: promise) }
            return try await promise.futureResult.get()
        } onCancel: {
            eventLoop.execute { self.finish(.failure(CancellationError())) }
        }
    }
}

/// All on the event loop.
extension IncomingBody {
    /// Whether the transport should go on reading for it.
    var wantsMore: Bool {
        let state = state.value
        guard !state.hasEnded, state.failure == nil else { return true }
        return state.reader != nil || (!state.wasCollected && state.bytes.readableBytes < Self.held)
    }

    /// Whether it is waited for.
    var isBeingRead: Bool { state.value.reader != nil }

    /// Whether its collection has begun.
    var wasCollected: Bool { state.value.wasCollected }

    func collect(upTo limit: Int, within span: Duration? = nil, into promise: EventLoopPromise<[UInt8]>) {
        guard !state.value.wasCollected else {
            return promise.fail(PorticoError(.requestMalformed, "The body was read already."))
        }
        state.value.wasCollected = true
        state.value.reader = (limit, eventLoop.now, promise)
        check()
        guard state.value.reader != nil else { return }
        if let span {
            state.value.deadline = eventLoop.assumeIsolated().scheduleTask(in: .nanoseconds(span.nanoseconds)) {
                self.finish(.failure(PorticoError(.requestTimeout, "The body has not come in time.")))
            }
        }
        state.value.demand?()
    }

    func append(_ piece: ByteBuffer) {
        guard state.value.reader != nil || !state.value.wasCollected else { return }
        var piece = piece
        if state.value.bytes.readableBytes == 0 {
            state.value.bytes = piece
        } else {
            state.value.bytes.writeBuffer(&piece)
        }
        check()
    }

    func end() {
        state.value.hasEnded = true
        check()
    }

    /// The client or its connection failed.
    func fail(_ error: PorticoError) {
        guard !state.value.hasEnded, state.value.failure == nil else { return }
        state.value.failure = error
        check()
    }

    private func check() {
        guard let reader = state.value.reader else { return }
        let received = state.value.bytes.readableBytes
        if received > reader.limit {
            finish(.failure(PorticoError.bodyTooLarge(limit: reader.limit)))
        } else if let failure = state.value.failure {
            finish(.failure(failure))
        } else if state.value.hasEnded {
            finish(
                received == announced ?? received
                    ? .success(Array(state.value.bytes.readableBytesView)) : .failure(PorticoError.brokenOff))
        } else {
            let elapsed = Duration.nanoseconds((eventLoop.now - reader.began).nanoseconds)
            do { try pace.check(received, of: announced, after: elapsed) } catch { finish(.failure(error)) }
        }
    }

    private func finish(_ result: Result<[UInt8], any Error>) {
        guard let reader = state.value.reader else { return }
        state.value.reader = nil
        state.value.deadline?.cancel()
        state.value.deadline = nil
        state.value.bytes = ByteBuffer()
        reader.promise.completeWith(result)
    }

    /// Nothing of it is wanted any more, and its transport is not to be kept.
    func abandon() {
        finish(.failure(PorticoError.brokenOff))
        state.value.wasCollected = true
        state.value.demand = nil
    }
}

/// `http.limits.readRate`: how fast a body has to come at least. A little every now and then keeps a connection from
/// being idle, and would hold its request's place until the deadline.
struct UploadRate: Sendable {
    /// No rate is required of a client for so long.
    static let grace = Duration.seconds(5)

    /// Bytes a second.
    let rate: Int

    /// Throws `request.timeout`. A body that is whole came fast enough.
    func check(_ received: Int, of announced: Int?, after elapsed: Duration) throws(PorticoError) {
        guard elapsed > Self.grace, received != announced else { return }
        let least = Double(rate) * ((elapsed - Self.grace) / .seconds(1))
        guard Double(received) < least else { return }
        throw PorticoError(.requestTimeout, "The body comes too slowly.")
    }
}

/// The rest of a body that is read after its response, only to be thrown away.
struct DiscardedBody {
    private let pace: UploadRate
    private let began: NIODeadline
    private let deadline: Scheduled<Void>
    private let whenEnded: @Sendable () -> Void
    private var received = 0

    /// - Parameter deadline: what happens when it has taken too long.
    init(
        pace: UploadRate, since began: NIODeadline, _ deadline: Scheduled<Void>,
        end whenEnded: @escaping @Sendable () -> Void
    ) {
        self.pace = pace
        self.began = began
        self.deadline = deadline
        self.whenEnded = whenEnded
    }

    /// False where it comes too slowly.
    mutating func noteArrival(_ bytes: Int, at now: NIODeadline) -> Bool {
        received += bytes
        do throws(PorticoError) {
            try pace.check(received, of: nil, after: .nanoseconds((now - began).nanoseconds))
            return true
        } catch {
            return false
        }
    }

    func end() {
        deadline.cancel()
        whenEnded()
    }
}

extension PorticoError {
    static var brokenOff: PorticoError { .malformed("The request ends before it is complete.") }

    package static func malformed(_ message: String) -> PorticoError { PorticoError(.requestMalformed, message) }

    package static func bodyTooLarge(limit: Int) -> PorticoError {
        PorticoError(.requestTooLarge, "The body is larger than the \(limit) bytes that are accepted here.")
    }
}
