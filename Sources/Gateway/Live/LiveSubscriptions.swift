import AdapterKit
import RecordStorage
import SyncEngine

/// The registered live streams, which of them wait, and which to wake. The state machine behind ``LiveBroadcaster``: it
/// has no effects, and time is passed in.
struct LiveSubscriptions<Waiter> {
    enum Admission: Equatable {
        case open(UInt64)
        case tooMany
        case tooManyOfPrincipal
        case stopping
    }

    /// The part of a stream that does not change: in one registration, so that looking at a stream copies nothing.
    private final class Registration: Sendable {
        let principal: String
        let adapters: Set<AdapterName>
        /// The changes that concern the stream; nil: any of the adapters' records.
        let interest: SyncInterest?
        /// When the credential ends by itself; nil: never.
        let expires: WireDate?

        init(
            _ principal: String, following adapters: Set<AdapterName>, interest: SyncInterest?, expires: WireDate?
        ) {
            self.principal = principal
            self.adapters = adapters
            self.interest = interest
            self.expires = expires
        }
    }

    private struct Stream {
        let registration: Registration
        var waiter: Waiter?
        /// When its silence must end.
        var due: ContinuousClock.Instant
        var isCut = false
        /// Up to here nothing concerned it while it waited.
        var passed = Revision(0)
        /// ``wake(_:)`` was called while it did not wait.
        var isCalled = false
    }

    private let limits: LiveLimits
    private var streams: [UInt64: Stream] = [:]
    private var counts: [String: Int] = [:]
    private var lastNumber: UInt64 = 0
    private(set) var isStopping = false
    /// The last position of each adapter that was heard of.
    private var positions: [AdapterName: Revision] = [:]

    init(limits: LiveLimits) {
        self.limits = limits
    }

    var count: Int { streams.count }

    /// Whether it may be sent anything now.
    func isOpen(_ number: UInt64) -> Bool { !isStopping && streams[number].map { !$0.isCut } ?? false }

    mutating func admit(
        _ principal: String, following adapters: Set<AdapterName>, interest: SyncInterest? = nil,
        until expires: WireDate? = nil
    ) -> Admission {
        guard !isStopping else { return .stopping }
        guard streams.count < limits.streams else { return .tooMany }
        guard counts[principal, default: 0] < limits.perPrincipal else { return .tooManyOfPrincipal }
        lastNumber += 1
        counts[principal, default: 0] += 1
        streams[lastNumber] = Stream(
            registration: Registration(principal, following: adapters, interest: interest, expires: expires), due: .now)
        return .open(lastNumber)
    }

    /// Nil where it waits now; otherwise why it need not: something happened after `seen`, or it is over.
    mutating func wait(
        _ number: UInt64, _ waiter: Waiter, seen: Revision, until due: ContinuousClock.Instant
    ) -> WakeReason? {
        guard let stream = streams[number], !stream.isCut else { return .cut }
        if isStopping { return .stopping }
        if stream.isCalled {
            streams[number]?.isCalled = false
            return .changed
        }
        if stream.registration.adapters.contains(where: { positions[$0].map { $0 > max(seen, stream.passed) } ?? false }
        ) {
            return .changed
        }
        streams[number]?.waiter = waiter
        streams[number]?.due = due
        return nil
    }

    /// Adapters whose records changed; those who wait for one of them and are concerned. `changes` is what changed since
    /// the last call, nil where that is not known.
    mutating func noteMoves(_ moved: [AdapterName: Revision], _ changes: RowChanges? = nil) -> [Waiter] {
        // What is known of a position may be behind changes that were read.
        let latest = moved.filter { entry in positions[entry.key].map { entry.value > $0 } ?? true }
        positions.merge(latest) { max($0, $1) }
        // The changes may be later than the positions: a stream that does not wait yet must find them there too.
        if let changes { positions.merge(changes.adapters.map { ($0, changes.position) }) { max($0, $1) } }
        var woken: [Waiter] = []
        var next = streams.values.startIndex
        while next != streams.values.endIndex {
            let index = next
            streams.values.formIndex(after: &next)
            guard let waiter = streams.values[index].waiter else { continue }
            let registration = streams.values[index].registration
            if let changes, let isConcerned = registration.interest?.isConcerned(by: changes) {
                guard isConcerned else {
                    streams.values[index].passed = changes.position
                    continue
                }
            } else if !registration.adapters.contains(where: { latest[$0] != nil }) {
                continue
            }
            streams.values[index].waiter = nil
            woken.append(waiter)
        }
        return woken
    }

    /// The waiters whose silence has lasted long enough.
    mutating func due(at now: ContinuousClock.Instant) -> [Waiter] { take { $0.due <= now } }

    /// Cuts the streams whose credentials have ended by then; those of them that wait.
    mutating func cutExpired(at now: WireDate) -> [Waiter] {
        let ended = streams.filter { !$0.value.isCut && ($0.value.registration.expires.map { $0 <= now } ?? false) }
        return ended.keys.compactMap { cut($0) }
    }

    /// Calls for one stream, whatever it follows.
    mutating func wake(_ number: UInt64) -> Waiter? {
        guard let stream = streams[number] else { return nil }
        streams[number]?.isCalled = stream.waiter == nil
        streams[number]?.waiter = nil
        return stream.waiter
    }

    /// Cuts a stream whose credential was revoked.
    mutating func cut(_ number: UInt64) -> Waiter? {
        streams[number]?.isCut = true
        defer { streams[number]?.waiter = nil }
        return streams[number]?.waiter
    }

    mutating func remove(_ number: UInt64) -> Waiter? {
        guard let stream = streams.removeValue(forKey: number) else { return nil }
        counts[stream.registration.principal, default: 1] -= 1
        if counts[stream.registration.principal] == 0 { counts[stream.registration.principal] = nil }
        return stream.waiter
    }

    mutating func stop() -> [Waiter] {
        isStopping = true
        return take { _ in true }
    }

    private mutating func take(where matches: (Stream) -> Bool) -> [Waiter] {
        var waiters: [Waiter] = []
        for (number, stream) in streams where stream.waiter != nil && matches(stream) {
            if let waiter = stream.waiter { waiters.append(waiter) }
            streams[number]?.waiter = nil
        }
        return waiters
    }
}

/// Limits of live streams.
struct LiveLimits: Sendable, Equatable {
    let streams: Int
    let perPrincipal: Int
}

/// Why a stream goes on.
enum WakeReason: Sendable, Equatable {
    case changed
    /// Nothing happened for so long that the peer should hear something.
    case silence
    /// The credential does not hold any more, or the connection is gone.
    case cut
    case stopping
}
