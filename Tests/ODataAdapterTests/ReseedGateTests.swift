import Synchronization
import Testing

@testable import ODataAdapter

/// Requests share the gate, reloading the seed has it alone.
@Suite struct ReseedGateTests {
    @Test(.timeLimit(.minutes(5)))
    func `what runs alone waits for those that are in, and those that come wait for it`() async throws {
        let gate = ReseedGate()
        let events = Mutex<[String]>([])
        await gate.enter()
        await gate.enter()
        async let alone: Void = gate.alone {
            events.withLock { $0.append("alone") }
        }
        // The one that runs alone has entered itself, and counts as gone while it waits.
        while !Task.isCancelled, await !gate.isClosed { await Task.yield() }
        #expect(events.withLock { $0 }.isEmpty)
        async let late: Void = gate.enter()
        for _ in 0..<100 { await Task.yield() }
        #expect(events.withLock { $0 }.isEmpty)
        await gate.leave()
        try await alone
        #expect(events.withLock { $0 } == ["alone"])
        await late
        await gate.leave()
        await gate.leave()
    }

    @Test(.timeLimit(.minutes(5)))
    func `a failure opens the gate again`() async throws {
        let gate = ReseedGate()
        await gate.enter()
        await #expect(throws: CancellationError.self) { try await gate.alone { throw CancellationError() } }
        await gate.leave()
        await gate.enter()
        try await gate.alone {}
        await gate.leave()
    }
}
