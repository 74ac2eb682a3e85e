import AdapterKit
import Identity
import Synchronization
import Testing

/// The state machine alone, with times as numbers.
@Suite struct FairQueueTests {
    /// Runs a queue of one slot, in which everything takes 100 ms, and remembers what came of each request.
    private struct Run {
        var queue: FairQueue
        var now = Duration.zero
        var running: [UInt64] = []
        var servedOrder: [UInt64] = []
        var refused: Set<UInt64> = []
        var lastID: UInt64 = 0

        init(slots: Int = 1, waiting: Int = 128, longestWait: Duration = .seconds(3600)) {
            queue = FairQueue(.init(slots: slots, waiting: waiting, longestWait: longestWait))
        }

        @discardableResult mutating func arrive(_ address: String, _ name: String) -> UInt64 {
            lastID += 1
            take(queue.arrive(lastID, PasswordShare(address: ClientAddress(address), name: name), now: now))
            return lastID
        }

        mutating func finishOne() {
            guard !running.isEmpty else { return }
            now += .milliseconds(100)
            take(queue.finish(running.removeFirst(), now: now))
        }

        private mutating func take(_ actions: [FairQueue.Action]) {
            for action in actions {
                switch action {
                case .run(let id):
                    running.append(id)
                    servedOrder.append(id)
                case .refuse(let id, let seconds):
                    #expect((1...60).contains(seconds))
                    refused.insert(id)
                }
            }
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

    @Test func `who has waited too long is refused before it is hashed`() {
        var run = Run(longestWait: .seconds(1))
        run.arrive("10.0.0.1", "a")
        let late = run.arrive("10.0.0.2", "b")
        run.now += .seconds(2)
        run.finishOne()
        #expect(run.refused == [late])
        #expect(run.running.isEmpty)
    }

    @Test func `who has gone is not served`() {
        var run = Run()
        run.arrive("10.0.0.1", "a")
        let gone = run.arrive("10.0.0.2", "b")
        let (first, second) = (run.queue.leave(gone), run.queue.leave(gone))
        #expect(first && !second)
        run.finishOne()
        #expect(!run.servedOrder.contains(gone))
        #expect(run.queue.runningCount == 0)
    }

    /// Generated: whoever comes, and however often, a request that waits is served within four turns for each that waits,
    /// and nothing is lost or runs twice.
    @Test(arguments: 0..<30) func `no share starves`(seed: Int) {
        var random = SeededRandom(seed: UInt64(seed))
        let slots = Int.random(in: 1...3, using: &random)
        var run = Run(slots: slots, waiting: Int.random(in: 4...48, using: &random))
        let addresses = Int.random(in: 1...60, using: &random)
        let names = Int.random(in: 1...60, using: &random)
        let freshPerTen = Int.random(in: 0...10, using: &random)
        var arrivedAt: [UInt64: Int] = [:]
        for step in 0..<500 {
            for _ in 0..<Int.random(in: 0...3, using: &random) {
                let isFresh = Int.random(in: 0..<10, using: &random) < freshPerTen
                let number = isFresh ? 1000 + step : Int.random(in: 0..<addresses, using: &random)
                let name = isFresh ? "fresh\(step)" : "n\(Int.random(in: 0..<names, using: &random))"
                let id = run.arrive("10.\(number / 62_500).\(number / 250 % 250).\(number % 250)", name)
                arrivedAt[id] = run.servedOrder.count
            }
            if Int.random(in: 0..<20, using: &random) == 0, let id = arrivedAt.keys.min(), run.queue.leave(id) {
                arrivedAt[id] = nil
            }
            run.finishOne()
            #expect(run.queue.runningCount <= slots && run.queue.waitingCount <= run.queue.limits.waiting)
            #expect(run.queue.rememberedCount <= 1024)
        }
        let served = Set(run.servedOrder)
        #expect(served.count == run.servedOrder.count && served.isDisjoint(with: run.refused))
        for (id, arrived) in arrivedAt where !run.refused.contains(id) && !served.contains(id) {
            // As long as it waits, fewer than this were served before it.
            #expect(run.servedOrder.count - arrived <= 4 * (run.queue.limits.waiting + 1), "request \(id)")
        }
        for (place, id) in run.servedOrder.enumerated() {
            #expect(place - (arrivedAt[id] ?? place) <= 4 * (run.queue.limits.waiting + 1), "request \(id)")
        }
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
