import ValueTree

/// The live stream of one's rooms. Comes back by itself after every interruption, with the event after the last one:
/// nothing is left out and nothing comes twice, or ``ChatEvent/reset`` says that too much was missed.
///
/// Each iteration is a stream of its own; it ends with the task that reads it.
public struct ChatEvents: AsyncSequence, Sendable {
    public typealias Element = ChatEvent
    public typealias Failure = any Error

    let chat: ChatClient
    let limits: SyncLimits
    let clock: any Clock<Duration>

    public func makeAsyncIterator() -> Iterator {
        Iterator(events: self)
    }

    public struct Iterator: AsyncIteratorProtocol {
        private let events: ChatEvents
        private var progress: LiveProgress
        private var next: LiveProgress.Next
        private var pieces: AsyncThrowingStream<[UInt8], any Error>.Iterator?
        private var told: ArraySlice<ServerEvents.Event> = []

        init(events: ChatEvents) {
            self.events = events
            progress = LiveProgress(after: nil, pauses: events.limits.pauses)
            next = progress.begin()
        }

        /// - Throws: ``ClientError`` where no later try can help: the sign-in has ended, or the server refuses for good;
        ///   or `CancellationError`.
        public mutating func next() async throws -> ChatEvent? {
            while true {
                try Task.checkCancellation()
                while let event = told.popFirst() {
                    guard let known = try ChatEvent(event) else { continue }
                    await events.take(known)
                    return known
                }
                if case .fail(let error) = next { throw error }
                do {
                    try await advance()
                } catch {
                    try Task.checkCancellation()
                    pieces = nil
                    next = progress.ended(ClientError(ofStream: error))
                }
            }
        }

        /// One step: opens, waits, or reads a piece.
        private mutating func advance() async throws {
            if var reading = pieces {
                let piece = try await reading.next()
                pieces = piece == nil ? nil : reading
                guard let piece else {
                    next = progress.ended(nil)
                    return
                }
                told = try progress.read(piece)[...]
                return
            }
            switch next {
            case .open(let id): pieces = try await events.open(after: id).makeAsyncIterator()
            case .pause(let time):
                try await events.clock.sleep(for: time)
                next = progress.begin()
            case .fail: break
            }
        }
    }
}

extension ChatEvents {
    fileprivate func open(after id: String?) async throws -> AsyncThrowingStream<[UInt8], any Error> {
        var call = ServerCall(path: ["chat", "v1", "live"], deadline: limits.liveSilence)
        call.headers = [Header("Accept", "text/event-stream")]
        if let id { call.headers.append(Header("Last-Event-ID", id)) }
        return try await chat.session.open(call).pieces
    }

    /// What the device keeps of it. Messages themselves come with the sync, which verifies them.
    fileprivate func take(_ event: ChatEvent) async {
        switch event {
        case .read(let room, chat.user, let sequence): _ = try? await chat.marks.move(room, to: sequence)
        case .ready, .reset: _ = try? await chat.refreshReadMarks()
        default: break
        }
    }
}

extension ClientError {
    fileprivate init(ofStream error: any Error) {
        switch error {
        case let error as ClientError: self = error
        case let error as TransportError: self.init(error)
        default: self = .unreachable("\(error)")
        }
    }
}

extension ChatClient {
    /// What happens in one's rooms from now on: messages, edits, who comes, reads, types and is there.
    ///
    /// - Parameter limits: the pauses between tries, and the longest silence.
    public func events(limits: SyncLimits = SyncLimits(), clock: any Clock<Duration> = ContinuousClock()) -> ChatEvents
    {
        ChatEvents(chat: self, limits: limits, clock: clock)
    }
}
