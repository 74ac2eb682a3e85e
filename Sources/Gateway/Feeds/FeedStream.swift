import AdapterKit
import NIOCore
import RecordStorage
import Synchronization

/// One caller's stream of a feed.
///
/// It begins with what its client missed, read from the log page by page as the peer takes them. Once it knows everything
/// it is attached to the ``FeedBroadcaster``, which writes events past it straight to the channel; the stream's task only sleeps
/// then. A peer that does not keep up is detached and catches up from the log again, so a slow one costs one page.
final class FeedStream: ResponseStream {
    private struct State {
        var isGreeted = false
        var isReady = false
        var isOver = false
        var groups: Set<RecordID> = []
    }

    private let hub: FeedBroadcaster
    private let name: String
    private let ticket: LiveTicket
    private let watch: CredentialWatch.Hold
    private let requestID: String
    private let sink: FeedSink
    private let state = Mutex(State())

    /// `last`: the id of the last event that the client has; nil: it begins here.
    init(
        _ hub: FeedBroadcaster, for caller: Caller, after last: String?, ticket: LiveTicket,
        watch: CredentialWatch.Hold,
        requestID: String
    ) {
        self.hub = hub
        name = caller.principal.name
        self.ticket = ticket
        self.watch = watch
        self.requestID = requestID
        let known = last.map { FeedPosition.read($0, in: hub.reader.epoch) ?? Self.unknown }
        sink = FeedSink(
            after: known, isOver: { watch.isExpired },
            fellBehind: {
                hub.detach(ticket.number)
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
        if greet() { return EventText.greeting }
        while !state.withLock({ $0.isOver }), !watch.isExpired {
            if !sink.isAttached {
                do {
                    if let piece = try await missed() { return piece }
                } catch {
                    return finish(EventText.failure(PorticoError(unexpected: error), requestID: requestID))
                }
            }
            switch await ticket.wait() {
            case .changed: continue
            case .silence: hub.beat(sink)
            case .stopping: return finish(EventText.reconnect)
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
        hub.leave(ticket.number, name, groups)
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

extension FeedStream {
    /// The next events from the log; nil once the stream knows everything and is attached.
    private func missed() async throws -> ByteBuffer? {
        while true {
            let (page, groups): (FeedPage, Set<RecordID>)
            switch try await hub.catchUp(after: sink.position, for: name) {
            case .beginAgain(let end): return beginAgain(at: end)
            case .page(let found, let heard): (page, groups) = (found, heard)
            }
            sink.move(to: page.through)
            state.withLock { $0.groups = groups }
            var text = ByteBuffer()
            for news in page.news {
                if var event = news.event(for: name, in: groups) { text.writeBuffer(&event) }
            }
            if text.readableBytes > 0 { return text }
            guard page.isComplete else { continue }
            if becomeReady() { return EventText.mark("ready", id: id(page.through)) }
            if hub.attach(ticket.number, name, groups, at: page.through, sink) { return nil }
        }
    }

    /// Its client has to fetch what it shows anew.
    private func beginAgain(at end: Revision) -> ByteBuffer {
        sink.move(to: end)
        _ = becomeReady()
        return EventText.mark("reset", id: id(end))
    }

    private func becomeReady() -> Bool {
        state.withLock { state in
            defer { state.isReady = true }
            return !state.isReady
        }
    }

    private func id(_ position: Revision) -> String { FeedPosition.text(position, in: hub.reader.epoch) }
}
