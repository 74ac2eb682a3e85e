import WireFormats

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
    /// Of the last event that was told.
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
