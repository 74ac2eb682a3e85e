import AdapterKit
import HTTPServer
import NIOCore
import RecordStorage
import SyncEngine
import SyncMessages
import Synchronization
import ValueTree
import WireFormats

/// One device's live stream: pages of a continuous pull, as server-sent events (HTML, section 9.2).
///
/// The checkpoint of the last event is its only state, so nothing is queued for a slow reader: the next event has all
/// changes since. At most one event is in memory. While it waits, ``LiveBroadcaster`` writes changes directly to the
/// channel and its task stays suspended, unless the peer has not taken the last event yet.
final class LiveStream: ResponseStream {
    private struct State {
        var checkpoint: String?
        var seen = Revision(0)
        var greeted = false
        var isOver = false
        /// Nil before the response has begun.
        var channel: (any BodyChannel)?
        /// That rounds have written.
        var bytes = 0
    }

    private let subject: LiveSubject
    private let source: LiveSource
    private let ticket: LiveTicket
    private let watch: CredentialWatch.Hold
    private let sight: StreamSight
    private let state: Mutex<State>

    init(
        _ request: PullRequest, for caller: SyncCaller, source: LiveSource, ticket: LiveTicket,
        watch: CredentialWatch.Hold, sight: StreamSight
    ) {
        subject = LiveSubject(request, for: caller, as: source.format)
        self.source = source
        self.ticket = ticket
        self.watch = watch
        self.sight = sight
        state = Mutex(State(checkpoint: request.checkpoint))
    }

    /// An answer that came too late is never written.
    deinit { end() }

    var isEndless: Bool { true }

    func begin(on channel: any BodyChannel) { state.withLock { $0.channel = channel } }

    var bytesBeside: Int { state.withLock { $0.bytes } }

    func next() async -> ByteBuffer? {
        if greet() { return ServerSentEvents.greeting }
        while !state.withLock({ $0.isOver }), !watch.isExpired {
            do {
                if let event = try await changes() { return event }
            } catch {
                return finish(ServerSentEvents.failure(PorticoError(unexpected: error), requestID: source.requestID))
            }
            switch await ticket.wait(seen: seen, deliveringTo: self) {
            case .changed: continue
            case .silence: return ServerSentEvents.heartbeat
            case .stopping: return finish(ServerSentEvents.reconnect)
            case .cut: return finish(nil)
            }
        }
        return nil
    }

    func end() {
        state.withLock { $0.isOver = true }
        ticket.close()
        watch.end()
        sight.end()
    }

    private func greet() -> Bool {
        state.withLock { state in
            defer { state.greeted = true }
            return !state.greeted
        }
    }

    private func finish(_ last: ByteBuffer?) -> ByteBuffer? {
        state.withLock { $0.isOver = true }
        return last
    }

    /// The next page as an event; nil where there is nothing to tell. The first page is always sent, so that a device
    /// knows what it has.
    private func changes() async throws -> ByteBuffer? {
        var request = subject.request
        let isFirst = state.withLock { state in
            request.checkpoint = state.checkpoint
            return state.seen == Revision(0)
        }
        if !isFirst { request.refetch = [] }
        let (page, position) = try await source.page(request, for: subject.caller)
        guard let token = page.token else { return nil }
        move(to: token, seen: page.isComplete ? position : nil)
        guard isFirst || page.hasChanges else { return nil }
        return try ServerSentEvents.page(page, id: token, as: source.format)
    }

    private func move(to checkpoint: String, seen: Revision?) {
        state.withLock { state in
            state.checkpoint = checkpoint
            if let seen { state.seen = max(seen, Revision(1)) }
        }
        if let seen { sight.noteReached(seen) }
    }
}

extension LiveStream {
    /// The position that it knows of, while it waits.
    var seen: Revision { state.withLock { $0.seen } }

    /// Where to call ``deliver(_:)``; nil before the response has begun.
    var eventLoop: (any EventLoop)? { state.withLock { $0.channel?.eventLoop } }

    /// The query that it asks while it waits; nil where it has sent nothing yet.
    var query: LiveQuery? {
        state.withLock { $0.checkpoint }.map { LiveQuery(checkpoint: $0, subject: subject) }
    }

    /// Writes the answer to ``query``: on the event loop, while the stream waits. False where it has to go on itself:
    /// more pages follow, the peer has not taken the last event yet, or it is over.
    func deliver(_ answer: LiveResponse) -> Bool {
        guard !watch.isExpired, let channel = state.withLock({ $0.isOver ? nil : $0.channel }), channel.isAtRest else {
            return false
        }
        if let event = answer.event {
            channel.write(event)
            channel.flush()
            state.withLock { $0.bytes += event.readableBytes }
        }
        move(to: answer.checkpoint, seen: answer.seen)
        return answer.seen != nil
    }
}

/// Where a live stream's pages come from.
struct LiveSource: Sendable {
    let pulls: PullMachine
    let store: any Store
    let format: any WireFormat
    let requestID: String

    /// Off the event loop, on which the connection's task prefers to run: it reads the store.
    func page(_ request: PullRequest, for caller: SyncCaller) async throws -> (PullPage, Revision) {
        let (pulls, store) = (pulls, store)
        return try await withTaskExecutorPreference(globalConcurrentExecutor) {
            let pull = try pulls.prepared(request, for: caller)
            return try await store.withReadSnapshot(expecting: pulls.reads(of: pull)) {
                (try pulls.page(pull, at: $0), $0.position)
            }
        }
    }
}
