/// Remembers which reads were long lately, so that the next one of a kind starts as a long read at once.
///
/// An entry is dropped after ``uses`` uses, so that a read that has become short is found out. A wrong entry costs time
/// and never changes a result. Reads are identified by hashes, which are random for each process. It is not synchronised:
/// its owner holds a lock.
public struct LongReadEstimate: Sendable {
    /// Entries at most. One more empties the whole list.
    public static let maximum = 1_024
    /// Uses of an entry before the read is tried as a short one again.
    public static let uses = 64

    private var left: [Int: Int] = [:]

    /// No read is known to be long.
    public init() {}

    /// Whether no read is known to be long, so that no hash need be computed.
    public var isEmpty: Bool { left.isEmpty }

    /// Whether the read with this hash was long lately. Counts as one use.
    public mutating func expectsLong(_ hash: Int) -> Bool {
        guard let count = left[hash] else { return false }
        left[hash] = count > 1 ? count - 1 : nil
        return true
    }

    /// Notes that the read with this hash was long.
    public mutating func noteLong(_ hash: Int) {
        if left.count == Self.maximum { left = [:] }
        left[hash] = Self.uses
    }
}
