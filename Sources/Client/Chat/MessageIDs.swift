import Foundation
import Synchronization
import ValueTree

/// UUIDs of version 7 (RFC 9562, section 5.7): random enough that nobody has the same, and in the order in which they were
/// made, so that messages that wait stand as they were written.
final class MessageIDs: Sendable {
    private let now: @Sendable () -> Double
    private let last = Mutex<UInt64>(0)

    /// - Parameter now: seconds since 1970.
    init(now: @escaping @Sendable () -> Double = WallTime.now) {
        self.now = now
    }

    func next() -> String {
        let milliseconds = last.withLock { last in
            // Ahead of the clock where several fall into one of its ticks, or where it was set back.
            last = max(last + 1, UInt64(max(0, now() * 1000)))
            return last
        }
        var bytes = (0..<16).map { _ in UInt8.random(in: .min ... .max) }
        for place in 0..<6 { bytes[place] = UInt8(truncatingIfNeeded: milliseconds >> UInt64(40 - 8 * place)) }
        bytes[6] = bytes[6] & 0x0F | 0x70
        bytes[8] = bytes[8] & 0x3F | 0x80
        return Hexadecimal.uuid(bytes)
    }
}
