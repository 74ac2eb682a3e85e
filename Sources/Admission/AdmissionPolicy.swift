import AdapterKit

/// The name of a request at an ``AdmissionQueue``. Later ones are larger.
public typealias AdmissionTicket = UInt64

/// The rules of a queue as a pure value: who may go next, who is evicted, what a request costs, what one account may hold.
///
/// ``AdmissionMachine`` asks it under a lock. It waits for nothing, has no clock and knows no task, and no deadlines: those are the
/// machine's. It learns of each request once that it arrives (``arrive(_:as:at:)``), and once that it ends: by ``leave(_:as:_:at:)`` where
/// it was admitted, unless what it was granted needs no end, and by ``abandon(_:)`` where it is cancelled or late while it waits. A request that
/// ``next(at:)`` refused, or ``arrive(_:as:at:)``, is gone.
public protocol AdmissionPolicy: Sendable {
    /// Who asks, and for what.
    associatedtype Request: Sendable
    /// What an admitted request gets.
    associatedtype Grant: Sendable = Void
    /// How an admitted request ended.
    associatedtype End: Sendable = Void
    /// Why a request is refused.
    associatedtype Refusal: Error = PorticoError

    /// A moment of the clock of all queues.
    typealias Instant = ContinuousClock.Instant

    /// A request arrives.
    mutating func arrive(_ request: Request, as ticket: AdmissionTicket, at now: Instant) -> AdmissionEntry<
        Grant, Refusal
    >

    /// A request that waits is cancelled, late, or refused because the queue has ended. Called for those alone that wait.
    mutating func abandon(_ ticket: AdmissionTicket)

    /// A request that was admitted has ended.
    mutating func leave(_ request: Request, as ticket: AdmissionTicket, _ end: End, at now: Instant)

    /// The next of those that wait to be admitted or refused; nil: all that wait go on waiting until something happens. Called until
    /// it is nil, after whatever happens but an arrival that is admitted or ``AdmissionEntry/waits``.
    mutating func next(at now: Instant) -> AdmissionDecision<Grant, Refusal>?

    /// Admitted requests that are to end so that others get their places. Each may be named again until it leaves.
    mutating func takeRevoked(at now: Instant) -> [AdmissionTicket]

    /// When ``takeRevoked(at:)`` is to be asked next; nil: not before another request arrives that waits.
    func nextRevocation(after now: Instant) -> Instant?

    /// Requests that are admitted and have not left, and requests that wait.
    var counts: AdmissionCounts { get }
}

extension AdmissionPolicy {
    /// None: what is admitted stays until it leaves.
    public mutating func takeRevoked(at now: Instant) -> [AdmissionTicket] { [] }

    /// Never.
    public func nextRevocation(after now: Instant) -> Instant? { nil }
}

/// The first decision on a request.
public enum AdmissionEntry<Grant, Refusal: Error> {
    case admitted(Grant)
    case refused(Refusal)
    /// It waits, and nothing can be decided now.
    case waits
    /// It waits, and ``AdmissionPolicy/next(at:)`` may decide on it or on others.
    case undecided
}

/// The decision on a request that waits.
public enum AdmissionDecision<Grant, Refusal: Error> {
    case admit(AdmissionTicket, Grant)
    case refuse(AdmissionTicket, Refusal)

    /// The request that it is about.
    public var ticket: AdmissionTicket {
        switch self {
        case .admit(let ticket, _), .refuse(let ticket, _): ticket
        }
    }
}

extension AdmissionEntry: Equatable where Grant: Equatable, Refusal: Equatable {}
extension AdmissionDecision: Equatable where Grant: Equatable, Refusal: Equatable {}
extension AdmissionEntry: Sendable where Grant: Sendable {}
extension AdmissionDecision: Sendable where Grant: Sendable {}

/// How many requests a queue has.
public struct AdmissionCounts: Sendable, Equatable {
    /// Admitted, and not ended.
    public var running: Int
    /// Not admitted yet.
    public var waiting: Int

    /// Creates counts with these values.
    public init(running: Int, waiting: Int) {
        self.running = running
        self.waiting = waiting
    }
}
