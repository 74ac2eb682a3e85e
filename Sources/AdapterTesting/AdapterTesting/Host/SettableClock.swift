import AdapterKit
import Synchronization

/// A clock that stands still until it is told otherwise.
public final class SettableClock: WallClock {
    private let instant: Mutex<WireDate>

    /// At 2026-01-01T00:00:00Z unless told otherwise.
    public init(_ instant: WireDate = WireDate(secondsSince1970: 1_767_225_600)) {
        self.instant = Mutex(instant)
    }

    public func now() -> WireDate {
        instant.withLock { $0 }
    }

    public func advance(seconds: Double) {
        instant.withLock { $0 = WireDate(secondsSinceReferenceDate: $0.secondsSinceReferenceDate + seconds) }
    }
}
