import AdapterKit
import Admission
import AdmissionTesting
import Identity
import Synchronization
import Testing

/// The policy alone, with times as numbers.
@Suite struct FairQueueTests {
    /// Runs a queue of one slot, in which everything takes 100 ms.
    private struct Run {
        let steps: SteppedPolicy<FairQueue>
        var running: [UInt64] { servedOrder.filter { !finished.contains($0) } }
        var servedOrder: [UInt64] { steps.admitted }
        var refused: Set<UInt64> { Set(steps.refused.keys) }
        private var finished: Set<UInt64> = []

        init(slots: Int = 1, waiting: Int = 128, longestWait: Duration = .seconds(3600)) {
            steps = SteppedPolicy(FairQueue(.init(slots: slots, waiting: waiting, longestWait: longestWait)))
        }

        @discardableResult func arrive(_ address: String, _ name: String) -> UInt64 {
            steps.enter(PasswordShare(address: ClientAddress(address), name: name))
            for refusal in steps.refused.values { #expect((1...60).contains(refusal.retryAfter ?? 0)) }
            return steps.last
        }

        mutating func finishOne() {
            guard let first = running.first else { return }
            steps.now += .milliseconds(100)
            finished.insert(first)
            steps.leave(first)
        }

        /// How many were served until this one was, it included; nil where it never is.
        mutating func servicesUntil(_ id: UInt64, atMost limit: Int = 10_000) -> Int? {
            let before = servedOrder.count
            while !servedOrder.contains(id) {
                guard servedOrder.count - before < limit, !running.isEmpty else { return nil }
                finishOne()
            }
            return servedOrder.count - before
        }
    }

    @Test func `an honest sign-in among 240 wrong ones of six addresses is served within one of each`() {
        var run = Run(waiting: 240)
        for number in 0..<240 { run.arrive("10.0.0.\(number % 6)", "guess\(number % 40)") }
        for _ in 0..<12 { run.finishOne() }
        let honest = run.arrive("192.0.2.1", "alice")
        let services = run.servicesUntil(honest) ?? .max
        #expect(services <= 10)
    }

    @Test func `guesses of one name from many addresses do not delay another name`() {
        var run = Run(waiting: 240)
        for number in 0..<200 { run.arrive("10.0.\(number).1", "victim") }
        for _ in 0..<3 { run.finishOne() }
        let honest = run.arrive("192.0.2.1", "alice")
        let services = run.servicesUntil(honest) ?? .max
        #expect(services <= 3)
    }

    @Test func `addresses of one IPv6 network are one share`() {
        var run = Run()
        for number in 0..<100 { run.arrive("2001:db8::\(number + 1)", "n\(number)") }
        for _ in 0..<3 { run.finishOne() }
        let honest = run.arrive("2001:db8:1::1", "alice")
        let services = run.servicesUntil(honest) ?? .max
        #expect(services <= 3)
    }

    @Test func `a full queue makes room for a small share by the latest of the largest`() {
        var run = Run(waiting: 10)
        for number in 0..<11 { run.arrive("10.0.0.1", "n\(number)") }
        let (again, honest) = (run.arrive("10.0.0.1", "n"), run.arrive("192.0.2.1", "alice"))
        #expect(run.refused == [again, 11])
        let services = run.servicesUntil(honest)
        #expect(services != nil)
    }

    @Test func `who would wait too long is refused at once, and others are not`() {
        var run = Run(longestWait: .seconds(1))
        let flood = (0..<50).map { _ in run.arrive("10.0.0.1", "victim") }
        #expect(flood.filter { run.refused.contains($0) }.count == 39)
        let honest = run.arrive("192.0.2.1", "alice")
        #expect(!run.refused.contains(honest))
        let services = run.servicesUntil(honest) ?? .max
        #expect(services <= 2)
    }

    @Test func `who has gone is not served`() {
        var run = Run()
        run.arrive("10.0.0.1", "a")
        let gone = run.arrive("10.0.0.2", "b")
        run.steps.abandon(gone)
        #expect(run.steps.policy.counts == AdmissionCounts(running: 1, waiting: 0))
        run.finishOne()
        #expect(!run.servedOrder.contains(gone))
        #expect(run.steps.policy.counts.running == 0)
    }

    /// Whoever comes, and however often, a request that waits is served within four turns for each that waits.
    @Test func `no share starves, and the queue keeps its promises`() {
        var slots = 1
        var (waiting, fresh) = (0, 0)
        var scenario = AdmissionScenario(patience: 4 * (16 + 1)) { random in
            slots = Int.random(in: 1...3, using: &random)
            waiting = Int.random(in: 4...16, using: &random)
            return FairQueue(.init(slots: slots, waiting: waiting, longestWait: .milliseconds(400)))
        } request: { random in
            fresh += 1
            let isFresh = Int.random(in: 0..<10, using: &random) < 3
            let number = Int.random(in: 0..<6, using: &random)
            return PasswordShare(
                address: ClientAddress("10.0.\(isFresh ? fresh / 250 % 250 : 0).\(isFresh ? fresh % 250 : number)"),
                name: isFresh ? "fresh\(fresh)" : "n\(Int.random(in: 0..<4, using: &random))")
        }
        scenario.mostWaiting = 16
        scenario.broken = { running, policy in running.count > policy.limits.slots ? "\(running.count) run" : nil }
        scenario.mayGo = { _, running, policy in running.count < policy.limits.slots }
        scenario.memory = ["lastServed"]
        #expect(scenario.firstViolation(seeds: Seeds.taken()) == nil)
    }
}

/// The same through the front door, with a hash that costs something.
@Suite struct PasswordWorkTests {
    @Test(arguments: ["signIn", "basic", "changePassword"])
    func `of a hundred guesses of one name at once, five are looked at`(way: String) async throws {
        let fixture = try await IdentityFixture()
        let here = try await fixture.signIn().authentication
        let wrong = Secret("wrong password")
        let codes = await withTaskGroup(of: ErrorCode?.self) { group in
            for _ in 0..<100 {
                group.addTask {
                    await code {
                        switch way {
                        case "signIn": _ = try await fixture.signIn("alice", wrong)
                        case "basic":
                            let found = try await fixture.identity.authentication(
                                basic: "alice", wrong, from: IdentityFixture.home)
                            if found == nil { throw PorticoError(.credentialsInvalid, "") }
                        default:
                            try await fixture.identity.changePassword(
                                here, old: wrong, new: Secret("a better password"), from: IdentityFixture.home)
                        }
                    }
                }
            }
            return await group.reduce(into: [ErrorCode?]()) { $0.append($1) }
        }
        #expect(codes.filter { $0 == .credentialsInvalid }.count == 5)
        #expect(codes.allSatisfy { $0 == .credentialsInvalid || $0 == .loginThrottled || $0 == .overloaded })
        fixture.clock.advance(60)
        _ = try await fixture.signIn()
    }

    @Test func `twenty right sign-ins of one name at once all succeed`() async throws {
        // A busy machine refuses nobody here.
        let fixture = try await IdentityFixture { $0.passwords.longestWait = .seconds(3600) }
        let codes = await withTaskGroup(of: ErrorCode?.self) { group in
            for _ in 0..<20 { group.addTask { await code { _ = try await fixture.signIn() } } }
            return await group.reduce(into: [ErrorCode?]()) { $0.append($1) }
        }
        #expect(codes.allSatisfy { $0 == nil })
    }

    @Test(.timeLimit(.minutes(5))) func `who has waited too long is refused though nothing else happens`() async throws
    {
        let turns = FairScheduler(.init(slots: 1, waiting: 10, longestWait: .milliseconds(300)))
        let (stream, release) = AsyncStream.makeStream(of: Never.self)
        let began = AsyncStream.makeStream(of: Void.self)
        let first = Task {
            try await turns.run(for: PasswordShare(address: IdentityFixture.home, name: "alice")) {
                began.continuation.yield()
                for await _ in stream {}
            }
        }
        for await _ in began.stream { break }
        let refused = await code {
            try await turns.run(for: PasswordShare(address: IdentityFixture.home, name: "bob")) {}
        }
        #expect(refused == .overloaded)
        release.finish()
        try await first.value
    }

    @Test func `who has gone leaves the queue before a hash is made`() async throws {
        let turns = FairScheduler(.init(slots: 1, waiting: 10, longestWait: .seconds(3600)))
        let share = PasswordShare(address: IdentityFixture.home, name: "alice")
        let hashed = Mutex(0)
        let (stream, release) = AsyncStream.makeStream(of: Never.self)
        let first = Task { try await turns.run(for: share) { for await _ in stream {} } }
        let second = Task { try await turns.run(for: share) { hashed.withLock { $0 += 1 } } }
        while !Task.isCancelled, turns.waitingCount < 1 { await Task.yield() }
        second.cancel()
        await #expect(throws: CancellationError.self) { try await second.value }
        #expect(turns.waitingCount == 0)
        release.finish()
        try await first.value
        #expect(hashed.withLock { $0 } == 0)
        try await turns.run(for: share) { hashed.withLock { $0 += 1 } }
        #expect(hashed.withLock { $0 } == 1)
    }
}
