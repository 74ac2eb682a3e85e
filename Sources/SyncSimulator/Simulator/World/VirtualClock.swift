import AdapterKit
import Synchronization

/// The time of a run in milliseconds since its start, and what the server's clock makes of it: that one jumps.
final class VirtualClock: WallClock {
    private struct Hands {
        var elapsed = 0
        var offset = 0
    }

    private let hands = Mutex(Hands())

    var elapsed: Int { hands.withLock { $0.elapsed } }

    func advance(to instant: Int) { hands.withLock { $0.elapsed = max($0.elapsed, instant) } }

    func jump(by milliseconds: Int) { hands.withLock { $0.offset += milliseconds } }

    func now() -> WireDate {
        WireDate(secondsSinceReferenceDate: hands.withLock { Double(($0.elapsed + $0.offset) / 1000) + 8e8 })
    }
}

enum Span {
    static let second = 1000
    static let hour = 3600 * second
    static let day = 24 * hour
    /// How long a device may be away and still be told what it missed.
    static let offlineWindow = 30 * day
}
