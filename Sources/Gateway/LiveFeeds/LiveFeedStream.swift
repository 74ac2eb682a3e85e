import AdapterKit
import HTTPServer
import NIOCore
import RecordStorage
import Synchronization

/// One caller's stream of a feed.
///
/// It begins with what its client missed, read from the log page by page as the peer takes them. Once it knows everything
/// it is attached to the ``LiveFeedBroadcaster``, which writes events past it straight to the channel; the stream's task only sleeps
/// then. A peer that does not keep up is detached and catches up from the log again, so a slow one costs one page.
final class LiveFeedStream: ResponseStream {
    private struct State {
        var isGreeted = false
        var isReady = false
        var isOver = false
        var groups: Set<RecordID> = []
    }

    private let broadcaster: LiveFeedBroadcaster
    private let name: String
    private let ticket: LiveTicket
    private let watch: CredentialWatch.Hold
    private let requestID: String
    private let sink: LiveFeedSink
    private let state = Mutex(State())

    /// `last`: the id of the last event that the client has; nil: it begins here.
    init(
        _ broadcaster: LiveFeedBroadcaster, for caller: Caller, after last: String?, ticket: LiveTicket,
        watch: CredentialWatch.Hold,
        requestID: String
    ) {
        self.broadcaster = broadcaster
        name = caller.principal.name
        self.ticket = ticket
        self.watch = watch
        self.requestID = requestID
        let known = last.map { LiveFeedPosition.read($0, in: broadcaster.reader.epoch) ?? Self.unknown }
        sink = LiveFeedSink(
            after: known, isOver: { watch.isExpired },
            fellBehind: {
                broadcaster.detach(ticket.number)
                ticket.wake()
            })
    }

    /// Stands for an id of another history.
    private static let unknown = Revision(-1)

    deinit { end() }

    var isEndless: Bool { true }

    func begin(on channel: any BodyChannel) { sink.bind(to: channel) }

    var bytesBeside: Int { sink.bytes }

    func next() async -> ByteBuffer? {
        if greet() { return ServerSentEvents.greeting }
        while !state.withLock({ $0.isOver }), !watch.isExpired {
            if !sink.isAttached {
                do {
                    if let piece = try await catchUpEvents() { return piece }
                } catch {
                    return finish(ServerSentEvents.failure(PorticoError(unexpected: error), requestID: requestID))
                }
            }
            switch await ticket.wait() {
            case .changed: continue
            case .silence: broadcaster.beat(sink)
            case .stopping: return finish(ServerSentEvents.reconnect)
            case .cut: return finish(nil)
            }
        }
        return finish(nil)
    }

    func end() {
        sink.detach()
        let groups = state.withLock { state in
            defer { state.isOver = true }
            return state.groups
        }
        broadcaster.leave(ticket.number, name, groups)
        ticket.close()
        watch.end()
    }

    private func greet() -> Bool {
        state.withLock { state in
            defer { state.isGreeted = true }
            return !state.isGreeted
        }
    }

    /// Nothing of the hub's may follow the last piece.
    private func finish(_ last: ByteBuffer?) -> ByteBuffer? {
        sink.detach()
        state.withLock { $0.isOver = true }
        return last
    }
}

extension LiveFeedStream {
    /// The next events from the log; nil once the stream knows everything and is attached.
    private func catchUpEvents() async throws -> ByteBuffer? {
        while true {
            let (page, groups): (LiveFeedPage, Set<RecordID>)
            switch try await broadcaster.catchUp(after: sink.position, for: name) {
            case .restart(let end): return restart(at: end)
            case .page(let found, let heard): (page, groups) = (found, heard)
            }
            sink.move(to: page.through)
            state.withLock { $0.groups = groups }
            var text = ByteBuffer()
            for changes in page.changes {
                if var event = changes.event(for: name, in: groups) { text.writeBuffer(&event) }
            }
            if text.readableBytes > 0 { return text }
            guard page.isComplete else { continue }
            if attachIfCurrent() { return ServerSentEvents.mark("ready", id: id(page.through)) }
            if broadcaster.attach(ticket.number, name, groups, at: page.through, sink) { return nil }
        }
    }

    /// Its client has to fetch what it shows anew.
    private func restart(at end: Revision) -> ByteBuffer {
        sink.move(to: end)
        _ = attachIfCurrent()
        return ServerSentEvents.mark("reset", id: id(end))
    }

    private func attachIfCurrent() -> Bool {
        state.withLock { state in
            defer { state.isReady = true }
            return !state.isReady
        }
    }

    private func id(_ position: Revision) -> String { LiveFeedPosition.text(position, in: broadcaster.reader.epoch) }
}

/// Where one stream's events go: straight to its channel, on the channel's event loop, as long as the peer takes them.
///
/// Nothing is queued beyond what the channel holds before it says that it is not writable. From then on events pass the
/// sink by; the stream finds them in the log once the peer reads on.
final class LiveFeedSink: Sendable {
    private struct State {
        var channel: (any BodyChannel)?
        /// The last event that was written, or up to which nothing concerned the stream.
        var position: Revision?
        var isAttached = false
        var bytes = 0
    }

    private let state: Mutex<State>
    /// Whether nothing may be delivered any more, although the stream has not ended yet.
    private let isOver: @Sendable () -> Bool
    /// Called once for each time that the peer falls behind.
    private let fellBehind: @Sendable () -> Void

    init(
        after position: Revision?, isOver: @escaping @Sendable () -> Bool,
        fellBehind: @escaping @Sendable () -> Void
    ) {
        self.isOver = isOver
        state = Mutex(State(position: position))
        self.fellBehind = fellBehind
    }

    var position: Revision? { state.withLock { $0.position } }
    /// Written so far.
    var bytes: Int { state.withLock { $0.bytes } }
    var isAttached: Bool { state.withLock { $0.isAttached } }
    /// Where to call ``deliver(_:)``; nil before the response has begun.
    var eventLoop: (any EventLoop)? { state.withLock { $0.channel?.eventLoop } }

    func bind(to channel: any BodyChannel) { state.withLock { $0.channel = channel } }

    /// By the stream itself, while it is not attached.
    func move(to position: Revision) { state.withLock { $0.position = position } }

    func attach() { state.withLock { $0.isAttached = true } }

    /// Nothing is written from now on but what a call of ``deliver(_:)`` under way has begun.
    func detach() { state.withLock { $0.isAttached = false } }

    /// The feed could not be read: the stream looks for itself.
    func invalidate() {
        detach()
        fellBehind()
    }

    /// Events in their order, on the event loop. Those that the stream knows already are left out.
    func deliver(_ events: [(position: Revision, event: ByteBuffer)]) {
        write { state in
            events.compactMap { position, event in
                guard position > state.position ?? Revision(0) else { return nil }
                state.position = position
                return event
            }
        }
    }

    /// Delivers an event that is no part of the log: lost where the peer is behind.
    func deliver(signal event: ByteBuffer) {
        write { _ in [event] }
    }

    /// Ends a silence and sends how far the log has been read.
    func beat(_ position: Revision, _ comment: ByteBuffer) {
        write { state in
            if position > state.position ?? Revision(0) { state.position = position }
            return [comment]
        }
    }

    private func write(_ choose: (inout State) -> [ByteBuffer]) {
        guard !isOver() else { return }
        let (channel, pieces, isBehind) = state.withLock { state -> ((any BodyChannel)?, [ByteBuffer], Bool) in
            guard state.isAttached, let channel = state.channel else { return (nil, [], false) }
            guard channel.isWritable else {
                state.isAttached = false
                return (nil, [], true)
            }
            let pieces = choose(&state)
            state.bytes += pieces.reduce(0) { $0 + $1.readableBytes }
            return (channel, pieces, false)
        }
        if isBehind { fellBehind() }
        guard let channel, !pieces.isEmpty else { return }
        for piece in pieces { channel.write(piece) }
        channel.flush()
    }
}
