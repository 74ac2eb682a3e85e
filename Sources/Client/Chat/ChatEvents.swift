import ValueTree
import WireFormats

/// The live stream of one's rooms. Comes back by itself after every interruption, with the event after the last one:
/// nothing is left out and nothing comes twice, or ``ChatEvent/reset`` says that too much was missed.
///
/// Each iteration is a stream of its own; it ends with the task that reads it.
public struct ChatEvents: AsyncSequence, Sendable {
    /// An event of the sequence.
    public typealias Element = ChatEvent
    /// The error that ends the sequence early.
    public typealias Failure = any Error

    let chat: ChatClient
    let limits: SyncLimits
    let clock: any Clock<Duration>

    public func makeAsyncIterator() -> Iterator {
        Iterator(events: self)
    }

    /// Reads the events of one connection after the other.
    public struct Iterator: AsyncIteratorProtocol {
        private let events: ChatEvents
        private var progress: LiveProgress
        private var next: LiveProgress.Next
        private var pieces: AsyncThrowingStream<[UInt8], any Error>.Iterator?
        private var pending: ArraySlice<ServerEvents.Event> = []

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
                while let event = pending.popFirst() {
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
                pending = try progress.read(piece)[...]
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

    /// Takes what the device keeps of an event. Messages themselves come with the sync, which verifies them.
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
    /// Events in one's rooms from now on: messages, edits, who comes, reads, types and is there.
    ///
    /// - Parameter limits: the pauses between tries, and the longest silence.
    public func events(limits: SyncLimits = SyncLimits(), clock: any Clock<Duration> = ContinuousClock()) -> ChatEvents
    {
        ChatEvents(chat: self, limits: limits, clock: clock)
    }
}

/// An event in one's rooms.
public enum ChatEvent: Sendable, Equatable {
    /// Everything that was missed has been delivered.
    case ready
    /// Too much was missed: what is shown is to be read anew.
    case reset
    /// A new message.
    case message(ChatMessage)
    /// A message has a new text.
    case edit(ChatMessage)
    /// A message was removed.
    case removal(message: String, room: String)
    /// An account joined or left.
    case membership(room: String, joined: [String], left: [String])
    /// Anything else of a room changed.
    case room(ChatRoom)
    /// A user has read up to that message of the room.
    case read(room: String, user: String, sequence: Int64)
    /// A member is typing; holds for some seconds.
    case typing(room: String, user: String)
    /// A user came online or went offline.
    case presence(user: String, isOnline: Bool)

    /// Nil for what this version does not know.
    init?(_ event: ServerEvents.Event) throws(ClientError) {
        let data: WireValue
        do {
            data = try JSONFormat().read(Array(event.data.utf8))
        } catch {
            throw .unreadableAnswer("an event: \(error.description)")
        }
        func text(_ name: String) -> String { data[name]?.stringValue ?? "" }
        func names(_ name: String) -> [String] { (data[name]?.arrayValue ?? []).compactMap(\.stringValue) }
        switch event.name {
        case "ready": self = .ready
        case "reset": self = .reset
        case "message": self = .message(try ChatMessage(data))
        case "edit": self = .edit(try ChatMessage(data))
        case "removal": self = .removal(message: text("id"), room: text("room"))
        case "membership": self = .membership(room: text("id"), joined: names("joined"), left: names("left"))
        case "room": self = .room(try ChatRoom(data))
        case "read":
            self = .read(room: text("room"), user: text("user"), sequence: data["seq"]?.int64Value ?? 0)
        case "typing": self = .typing(room: text("room"), user: text("user"))
        case "presence": self = .presence(user: text("user"), isOnline: data["online"]?.boolValue ?? false)
        default: return nil
        }
    }
}

/// Decides how a live stream goes on: from which event, after which pause, or not at all. Synchronous; ``ChatEvents``
/// carries it out.
struct LiveProgress {
    enum Next: Equatable {
        case open(after: String?)
        /// Open again after this time.
        case pause(Duration)
        case fail(ClientError)
    }

    private let pauses: ClosedRange<Duration>
    /// The id of the last event that was delivered.
    private(set) var lastID: String?
    private var failures = 0
    private var events = ServerEvents()

    init(after id: String?, pauses: ClosedRange<Duration>) {
        lastID = id
        self.pauses = pauses
    }

    mutating func begin() -> Next {
        events = ServerEvents()
        return .open(after: lastID)
    }

    /// - Throws: ``TransportError``: the stream cannot be read on, and is opened again.
    mutating func read(_ piece: [UInt8]) throws -> [ServerEvents.Event] {
        let found = try events.read(piece)
        // Whatever comes shows that it works; a stream that ends at once each time does not get here.
        if !found.isEmpty { failures = 0 }
        lastID = events.lastID ?? lastID
        return found
    }

    /// The stream ended, with an error or by itself.
    mutating func ended(_ error: ClientError?) -> Next {
        failures += 1
        switch error {
        case .refused(let refusal) where !refusal.isTemporary && refusal.status < 500: return .fail(.refused(refusal))
        case .refused(let refusal): return .pause(max(refusal.retryAfter ?? .zero, pause))
        case .signInEnded?, .notSignedIn?, .server?: return .fail(error ?? .closed)
        default: return .pause(pause)
        }
    }

    private var pause: Duration {
        min(pauses.upperBound, pauses.lowerBound * (1 << min(failures - 1, 16)))
    }
}
