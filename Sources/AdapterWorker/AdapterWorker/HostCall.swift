import Synchronization

/// A request of the host while the adapter answers it, for the tasks that run in its course.
///
/// It is over when it is answered and the stream of its response has ended. The host knows it no longer then, so what a
/// task asks that goes on is asked in the course of no request.
final class HostCall: Sendable {
    /// The request in whose course the code of this task runs; nil: none, as in what ``Adapter/start(_:)`` began.
    @TaskLocal static var current: HostCall?

    private let number: Int
    /// What it waits for: its answer, and the streams of it.
    private let parts = Atomic<Int>(1)

    init(_ number: Int) { self.number = number }

    /// Its number, for requests that are made in its course; nil when it is over.
    var scope: Int? { parts.load(ordering: .acquiring) > 0 ? number : nil }

    /// A stream of its answer begins. Each is followed by one ``end()``.
    func beginStream() { parts.add(1, ordering: .acquiringAndReleasing) }

    /// It is answered, or a stream of its answer has ended.
    func end() { parts.subtract(1, ordering: .acquiringAndReleasing) }
}
