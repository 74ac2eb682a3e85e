import AdapterKit
import Foundation

/// The machine's time of day, in whole milliseconds: finer digits are noise, and every format that has fractions at all
/// shows them shortly.
struct SystemClock: WallClock {
    func now() -> WireDate {
        WireDate(secondsSinceReferenceDate: (Date.now.timeIntervalSinceReferenceDate * 1_000).rounded() / 1_000)
    }
}
