import AdapterKit
import RecordStorage
import SyncEngine

/// Which live streams there are, which of them wait, and whom to wake: the state machine behind ``LiveBroadcaster``. Does
/// nothing itself; time is passed in.
struct LiveSubscriptions<Waiter> {
    enum Admission: Equatable {
        case open(UInt64)
        case tooMany
        case tooManyOfPrincipal
        case stopping
    }

    /// What does not change: in one place, so that looking at a stream copies nothing.
    private final class Place: Sendable {
        let principal: String
        let adapters: Set<AdapterName>
        /// What news has to be about; nil: any of the adapters' records.
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
        let place: Place
        var waiter: Waiter?
        /// When its silence must end.
        var due: ContinuousClock.Instant
        var isCut = false
        /// Up to here nothing concerned it while it waited.
        var passed = Revision(0)
        /// Somebody called for it while it did not wait.
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

    /// Whether it may be told anything now.
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
            place: Place(principal, following: adapters, interest: interest, expires: expires), due: .now)
        return .open(lastNumber)
    }

    /// Nil where it waits now; otherwise why it need not: something happened after `seen`, or it is over.
    mutating func wait(
        _ number: UInt64, _ waiter: Waiter, seen: Revision, until due: ContinuousClock.Instant
    ) -> LiveWaking? {
        guard let stream = streams[number], !stream.isCut else { return .cut }
        if isStopping { return .stopping }
        if stream.isCalled {
            streams[number]?.isCalled = false
            return .changed
        }
        if stream.place.adapters.contains(where: { positions[$0].map { $0 > max(seen, stream.passed) } ?? false }) {
            return .changed
        }
        streams[number]?.waiter = waiter
        streams[number]?.due = due
        return nil
    }

    /// Adapters whose records changed; those who wait for one of them and are concerned. `news` is what changed since
    /// the last call, nil where that is not known.
    mutating func moved(_ moved: [AdapterName: Revision], _ news: RowChanges? = nil) -> [Waiter] {
        let latest = moved.filter { positions[$0.key] != $0.value }
        positions.merge(latest) { max($0, $1) }
        // News may be later than the positions: who does not wait yet must find it there too.
        if let news { positions.merge(news.adapters.map { ($0, news.position) }) { max($0, $1) } }
        var woken: [Waiter] = []
        var next = streams.values.startIndex
        while next != streams.values.endIndex {
            let index = next
            streams.values.formIndex(after: &next)
            guard let waiter = streams.values[index].waiter else { continue }
            let place = streams.values[index].place
            if let news, let isConcerned = place.interest?.isConcerned(by: news) {
                guard isConcerned else {
                    streams.values[index].passed = news.position
                    continue
                }
            } else if !place.adapters.contains(where: { latest[$0] != nil }) {
                continue
            }
            streams.values[index].waiter = nil
            woken.append(waiter)
        }
        return woken
    }

    /// Those whose silence has lasted long enough.
    mutating func due(at now: ContinuousClock.Instant) -> [Waiter] { take { $0.due <= now } }

    /// Cuts the streams whose credentials have ended by then; those of them that wait.
    mutating func expired(at now: WireDate) -> [Waiter] {
        let ended = streams.filter { !$0.value.isCut && ($0.value.place.expires.map { $0 <= now } ?? false) }
        return ended.keys.compactMap { cut($0) }
    }

    /// Calls for one stream, whatever it follows.
    mutating func wake(_ number: UInt64) -> Waiter? {
        guard let stream = streams[number] else { return nil }
        streams[number]?.isCalled = stream.waiter == nil
        streams[number]?.waiter = nil
        return stream.waiter
    }

    /// It ends: told by whoever revoked its credential.
    mutating func cut(_ number: UInt64) -> Waiter? {
        streams[number]?.isCut = true
        defer { streams[number]?.waiter = nil }
        return streams[number]?.waiter
    }

    mutating func remove(_ number: UInt64) -> Waiter? {
        guard let stream = streams.removeValue(forKey: number) else { return nil }
        counts[stream.place.principal, default: 1] -= 1
        if counts[stream.place.principal] == 0 { counts[stream.place.principal] = nil }
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

/// How many live streams there may be.
struct LiveLimits: Sendable, Equatable {
    let streams: Int
    let perPrincipal: Int
}

/// Why a stream goes on.
enum LiveWaking: Sendable, Equatable {
    case changed
    /// Nothing happened for so long that the peer should hear something.
    case silence
    /// The credential does not hold any more, or the connection is gone.
    case cut
    case stopping
}
