import Synchronization

/// Which addresses had long answers lately: asked again, their answers are read for long at once, and what would be made of
/// them as a whole in vain is saved.
///
/// A guess that costs little where it is wrong: what has become small is answered just the same. Every so often a long one
/// is tried as a whole again.
final class LongResponseHistory: Sendable {
    /// Addresses that are remembered; with one more all are forgotten.
    static let maximum = 1_024
    /// How often an answer is begun as a long one before it is tried as a whole again.
    static let times = 64

    /// By the address's hash, which is random for each process: how often it is still taken for a long one.
    private let left = Mutex<[Int: Int]>([:])

    func expects(_ address: PlainAddress) -> Bool {
        left.withLock { left in
            let hash = address.text.hashValue
            guard let count = left[hash] else { return false }
            left[hash] = count > 1 ? count - 1 : nil
            return true
        }
    }

    func note(_ address: PlainAddress) {
        left.withLock { left in
            if left.count == Self.maximum { left = [:] }
            left[address.text.hashValue] = Self.times
        }
    }
}
