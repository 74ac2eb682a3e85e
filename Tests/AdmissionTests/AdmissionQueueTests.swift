import AdapterKit
import Admission
import Synchronization
import Testing

@Suite struct `A queue's executor` {
    private typealias Turns = AccountQueue<PorticoError>

    private let queue = AdmissionQueue(
        Turns(limit: 2, places: 8, share: .half, refusal: PorticoError(.overloaded, "Full.")),
        late: PorticoError(.deadlineExceeded, "Late."))
    private let alice = CallerIdentity.account("alice")
    private let bob = CallerIdentity.account("bob")

    @Test func `refuses before anyone waits, and a refusal holds nothing`() throws {
        let places = try (0..<5).map { _ in try queue.reserve(alice) }
        #expect(places.count == 5)
        for _ in 0..<3 { #expect(throws: PorticoError.self) { try queue.reserve(alice) } }
        #expect(queue.counts == AdmissionCounts(running: 1, waiting: 4))
    }

    @Test(.timeLimit(.minutes(5))) func `keeps the outcome of a place until it is waited for`() async throws {
        let first = try queue.reserve(alice)
        let second = try queue.reserve(alice)
        queue.leave(first)
        try await queue.wait(for: second)
        queue.leave(second)
        #expect(queue.counts == AdmissionCounts(running: 0, waiting: 0))
    }

    @Test(.timeLimit(.minutes(5))) func `lets a cancelled task go, and the next one in its turn`() async throws {
        let first = try queue.reserve(alice)
        let waiting = Task { try await queue.acquire(alice) }
        while queue.counts.waiting < 1 { await Task.yield() }
        let next = Task { try await queue.acquire(alice) }
        while queue.counts.waiting < 2 { await Task.yield() }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        queue.leave(first)
        queue.leave(try await next.value.place)
        #expect(queue.counts == AdmissionCounts(running: 0, waiting: 0))
    }

    @Test(.timeLimit(.minutes(5))) func `ends the wait of one whose deadline passes`() async throws {
        let first = try queue.reserve(alice)
        let error = await #expect(throws: PorticoError.self) {
            try await queue.acquire(alice, until: .now + .milliseconds(30))
        }
        #expect(error?.code == .deadlineExceeded)
        await #expect(throws: PorticoError.self) { try await queue.acquire(alice, until: .now) }
        #expect(queue.counts == AdmissionCounts(running: 1, waiting: 0))
        queue.leave(first)
        // A free turn has no deadline to keep.
        queue.leave(try await queue.acquire(alice, until: .now + .seconds(60)).place)
    }

    @Test(.timeLimit(.minutes(5))) func `tells one that runs to end at its deadline, once`() async throws {
        let place = try queue.reserve(alice)
        let (told, tell) = AsyncStream.makeStream(of: Void.self)
        queue.hold(place, until: .now + .milliseconds(20)) { tell.yield() }
        for await _ in told { break }
        #expect(queue.isEnded(place) && queue.counts.running == 1)
        queue.leave(place)
        #expect(!queue.isEnded(place))
    }

    @Test(.timeLimit(.minutes(5))) func `refuses what waits and what comes when it is closed`() async throws {
        let first = try queue.reserve(alice)
        let waiting = Task { try await queue.acquire(alice) }
        while queue.counts.waiting < 1 { await Task.yield() }
        queue.close(PorticoError(.stopping, "Closed."))
        let error = await #expect(throws: PorticoError.self) { try await waiting.value }
        #expect(error?.code == .stopping)
        #expect(throws: PorticoError.self) { try queue.reserve(bob) }
        queue.leave(first)
        #expect(queue.counts == AdmissionCounts(running: 0, waiting: 0))
    }

    /// Tasks that are cancelled at any time, with deadlines of any length, on all processors.
    @Test(.timeLimit(.minutes(5))) func `loses no turn and gives none twice, whatever tasks do at once`() async throws {
        let (queue, gauge) = (queue, Gauge())
        let done = await withTaskGroup(of: Bool.self) { group in
            for number in 0..<4_000 {
                group.addTask {
                    let deadline = ContinuousClock.now + .microseconds(number % 7 * 400 + 200)
                    let task = Task {
                        try await queue.run(.account("\(number % 5)"), until: deadline) { await gauge.visit() }
                    }
                    for _ in 0..<number % 11 { await Task.yield() }
                    if number % 3 == 0 { task.cancel() }
                    return (try? await task.value) != nil
                }
            }
            return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(done > 0 && gauge.inside == 0 && gauge.most <= 2)
        #expect(queue.counts == AdmissionCounts(running: 0, waiting: 0))
    }

    /// How many are inside, and how many were at most.
    private final class Gauge: Sendable {
        private let state = Mutex((inside: 0, most: 0))

        func visit() async {
            state.withLock { $0 = ($0.inside + 1, max($0.most, $0.inside + 1)) }
            await Task.yield()
            state.withLock { $0.inside -= 1 }
        }

        var inside: Int { state.withLock { $0.inside } }
        var most: Int { state.withLock { $0.most } }
    }
}
