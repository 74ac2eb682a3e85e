import AdapterKit
import MirrorEngine
import Synchronization
import Testing

/// Calls of a system that a test makes up, with a clock of its own.
private final class CallThroughFixture: Sendable {
    let clock = MirrorFixture.Clock()
    let calls: CallThroughCalls
    let lines = Mutex<[LogMessage]>([])
    /// How often the adapter was called.
    let count = Mutex(0)

    init(_ settings: CallThrough = CallThrough(to: "hr", waitFor: .seconds(60))) {
        let lines = Lines()
        calls = CallThroughCalls("search", settings, clock: clock, log: Log { lines.add($0) })
        self.logged = lines
    }

    final class Lines: Sendable {
        private let all = Mutex<[String]>([])
        func add(_ line: LogMessage) { all.withLock { $0.append("\(line.text)") } }
        func count(_ text: String) -> Int { all.withLock { $0.count { $0 == text } } }
    }

    let logged: Lines

    func running<Result: Sendable>(_ body: @Sendable () async throws -> Result) async throws -> Result {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await self.calls.run() }
            defer { group.cancelAll() }
            return try await body()
        }
    }

    func ask(
        _ input: String = "a", of owner: String? = nil, within time: Duration = .seconds(60),
        answering answer: @escaping @Sendable () async throws -> String
    ) async throws -> (text: String?, cacheStatus: String) {
        let found = try await calls.answer(input: Array(input.utf8), owner: owner, deadline: .now + time) {
            self.count.withLock { $0 += 1 }
            return .value(.string(try await answer()))
        }
        guard case .value(let value) = found.result.content else { return (nil, "") }
        return (value.stringValue, found.age.cacheStatus)
    }
}

/// A call that ends when the test says so.
private final class Gate: Sendable {
    private let (stream, signal) = AsyncStream.makeStream(of: Void.self)
    func open() { signal.finish() }
    func wait() async { for await _ in stream {} }
}

@Suite struct CallThroughCallsTests {
    private static let down = UpstreamFailure(.unreachable, of: "hr", detail: "no server")

    @Test func `all who ask the same at once share one call, and later ones its answer`() async throws {
        let fixture = CallThroughFixture()
        try await fixture.running {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<50 {
                    group.addTask {
                        let found = try await fixture.ask { "x" }
                        #expect(found.text == "x")
                    }
                }
                try await group.waitForAll()
            }
            let later = try await fixture.ask { "y" }
            #expect(later == ("x", "portico; hit"))
            #expect(fixture.count.withLock { $0 } == 1)
        }
    }

    @Test func `the end of one caller ends no call of others`() async throws {
        let (fixture, gate) = (CallThroughFixture(), Gate())
        try await fixture.running {
            let first = Task {
                try await fixture.ask {
                    await gate.wait()
                    return "x"
                }
            }
            while !Task.isCancelled, fixture.count.withLock({ $0 }) == 0 { await Task.yield() }
            first.cancel()
            await #expect(throws: CancellationError.self) { try await first.value }
            let second = Task { try await fixture.ask { "never" } }
            gate.open()
            let found = try await second.value
            #expect(found.text == "x")
            #expect(fixture.count.withLock { $0 } == 1)
        }
    }

    @Test func `a failure is answered with the last good answer, told once, and 503 without one`() async throws {
        let fixture = CallThroughFixture()
        try await fixture.running {
            _ = try await fixture.ask { "x" }
            fixture.clock.advance(301)
            for _ in 0..<3 {
                let found = try await fixture.ask { throw Self.down }
                #expect(found == ("x", "portico; fwd=stale; detail=upstream-failed"))
            }
            let refused = try await fixture.ask { throw MirrorRefusal(.loginPage, "a login page") }
            #expect(refused.text == "x")
            let late = try await fixture.ask { throw UpstreamFailure(.timedOut, of: "hr") }
            #expect(late.cacheStatus == "portico; fwd=stale; detail=upstream-timeout")
            let dead = try await fixture.ask {
                throw PorticoError(.adapterUnavailable, "The adapter is not available.")
            }
            #expect(dead.cacheStatus == "portico; fwd=stale; detail=adapter-unavailable")
            let error = await #expect(throws: PorticoError.self) { try await fixture.ask("b") { throw Self.down } }
            #expect(error?.code == .adapterUnavailable)
            #expect(error?.message.contains("hr") == true)
            _ = try await fixture.ask("c") { "back" }
            #expect(fixture.logged.count("calls of another system are answered again") == 1)
        }
    }

    @Test func `a slow answer is not waited for where there is a last good one`() async throws {
        let fixture = CallThroughFixture(CallThrough(to: "hr", waitFor: .milliseconds(20)))
        let gate = Gate()
        try await fixture.running {
            _ = try await fixture.ask { "x" }
            fixture.clock.advance(301)
            let early = try await fixture.ask {
                await gate.wait()
                return "y"
            }
            #expect(early == ("x", "portico; fwd=stale; detail=upstream-timeout"))
            gate.open()
            while !Task.isCancelled, try await fixture.ask(answering: { "never" }).text != "y" { await Task.yield() }
            #expect(fixture.count.withLock { $0 } == 2)
        }
    }

    @Test func `a caller whose deadline comes first is answered before it`() async throws {
        let (fixture, gate) = (CallThroughFixture(), Gate())
        try await fixture.running {
            _ = try await fixture.ask { "x" }
            fixture.clock.advance(301)
            let found = try await fixture.ask(within: .milliseconds(120)) {
                await gate.wait()
                return "y"
            }
            #expect(found.text == "x")
            gate.open()
        }
    }

    @Test func `an error of the other system is the caller's, and one of a lost right forgets the answer`() async throws
    {
        let fixture = CallThroughFixture()
        try await fixture.running {
            _ = try await fixture.ask(of: "alice") { "x" }
            fixture.clock.advance(301)
            let refused = await #expect(throws: PorticoError.self) {
                try await fixture.ask(of: "alice") { throw PorticoError(.requestInvalid, "no") }
            }
            #expect(refused?.code == .requestInvalid)
            let kept = try await fixture.ask(of: "alice") { throw Self.down }
            #expect(kept.text == "x")
            let denied = await #expect(throws: PorticoError.self) {
                try await fixture.ask(of: "alice") { throw UpstreamFailure(.signInRequired, of: "hr") }
            }
            #expect(denied?.code == .loginRequired)
            await #expect(throws: PorticoError.self) { try await fixture.ask(of: "alice") { throw Self.down } }
        }
    }

    @Test func `who waits when the gateway stops is told`() async throws {
        let (fixture, gate) = (CallThroughFixture(), Gate())
        let running = Task { await fixture.calls.run() }
        let waiting = Task {
            try await fixture.ask {
                await gate.wait()
                return "x"
            }
        }
        while !Task.isCancelled, fixture.count.withLock({ $0 }) == 0 { await Task.yield() }
        running.cancel()
        let result = await waiting.result
        gate.open()
        await running.value
        if case .success(let found) = result { #expect(found.text == "x") }
        await #expect(throws: PorticoError.self) { try await fixture.ask("b") { "y" } }
    }
}
