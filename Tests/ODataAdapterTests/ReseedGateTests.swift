import AdapterKit
import Synchronization
import Testing

@testable import ODataAdapter

/// Requests share the gate, reloading the seed has it alone.
@Suite struct ReseedGateTests {
    @Test(.timeLimit(.minutes(5)))
    func `what runs alone waits for those that are in, and those that come wait for it`() async throws {
        let gate = ReseedGate()
        let events = Mutex<[String]>([])
        try await gate.enter()
        try await gate.enter()
        async let alone: Void = gate.alone {
            events.withLock { $0.append("alone") }
        }
        // The one that runs alone has entered itself, and counts as gone while it waits.
        while !Task.isCancelled, await !gate.isClosed { await Task.yield() }
        #expect(events.withLock { $0 }.isEmpty)
        async let late: Void = gate.enter()
        try await Task.sleep(for: .milliseconds(50))
        #expect(events.withLock { $0 }.isEmpty)
        await gate.leave()
        try await alone
        #expect(events.withLock { $0 } == ["alone"])
        try await late
        await gate.leave()
        await gate.leave()
    }

    @Test(.timeLimit(.minutes(5)))
    func `a failure opens the gate again`() async throws {
        let gate = ReseedGate()
        try await gate.enter()
        await #expect(throws: CancellationError.self) { try await gate.alone { throw CancellationError() } }
        await gate.leave()
        try await gate.enter()
        try await gate.alone {}
        await gate.leave()
    }

    @Test(.timeLimit(.minutes(5)))
    func `nothing waits without an end for a request that does not end`() async throws {
        let gate = ReseedGate(longestWait: .milliseconds(30))
        try await gate.enter()
        try await gate.enter()
        await #expect(throws: PorticoError.self) { try await gate.alone { Issue.record("not alone") } }
        // The others go on at once.
        try await gate.enter()
        for _ in 0..<3 { await gate.leave() }
        try await gate.enter()
        try await gate.alone {}
        await gate.leave()
    }

    @Test(.timeLimit(.minutes(5)))
    func `requests wait for what runs alone no longer than they may, and end with their call`() async throws {
        let gate = ReseedGate(longestWait: .milliseconds(30))
        try await gate.enter()
        try await gate.alone {
            await #expect(throws: PorticoError.self) { try await gate.enter() }
            let call = Task { try await gate.enter() }
            call.cancel()
            await #expect(throws: CancellationError.self) { try await call.value }
        }
        await gate.leave()
    }
}
