import AdapterKit
import NIOCore
import RecordStorage
import Synchronization

/// Where one stream's events go: straight to its channel, on the channel's event loop, as long as the peer takes them.
///
/// Nothing is queued beyond what the channel holds before it says that it is not writable. From then on events pass the
/// sink by; the stream finds them in the log once the peer reads on.
final class FeedSink: Sendable {
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
    func sendAway() {
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

    /// What is no part of the log: lost where the peer is behind.
    func deliver(signal event: ByteBuffer) {
        write { _ in [event] }
    }

    /// Ends a silence and tells how far the log has been read.
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
