import Synchronization

/// Counts from 1, across threads.
final class SharedCounter: Sendable {
    private let value = Atomic<UInt64>(0)

    func next() -> UInt64 { value.wrappingAdd(1, ordering: .relaxed).newValue }
}
