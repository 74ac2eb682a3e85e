import AdapterKit
import Identity
import Testing

/// The state machine alone, with times as numbers.
@Suite struct LoginBackoffTests {
    private let start = WireDate(secondsSince1970: 0)
    private let here = ClientAddress("192.0.2.1")
    private let elsewhere = ClientAddress("198.51.100.1")

    private func at(_ seconds: Double) -> WireDate { WireDate(secondsSince1970: seconds) }

    /// Begins and ends an attempt; gives the seconds to wait, 0 where it was let through.
    private func attempt(
        _ backoff: inout LoginBackoff, _ name: String = "alice", from address: ClientAddress,
        _ outcome: LoginBackoff.Outcome = .refused, at seconds: Double
    ) -> Int {
        switch backoff.begin(name: name, from: address, now: at(seconds)) {
        case .wait(let wait): return wait
        case .queue: return -1
        case .proceed(let pass):
            backoff.end(pass, outcome, now: at(seconds))
            return 0
        }
    }

    @Test func `five failures are free, then each wait is twice as long as the one before, up to the cap`() {
        var backoff = LoginBackoff(.init())
        var now = 0.0
        for _ in 0..<6 { #expect(attempt(&backoff, from: here, at: now) == 0) }
        for expected in [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900] {
            #expect(attempt(&backoff, from: here, at: now) == expected)
            now += Double(expected)
            #expect(attempt(&backoff, from: here, at: now) == 0)
        }
    }

    @Test func `after five failed or unfinished attempts an address has low priority, but not for its own names`() {
        var backoff = LoginBackoff(.init())
        func begin(_ name: String, from address: ClientAddress, at seconds: Double = 0) -> LoginBackoff.Attempt? {
            guard case .proceed(let pass) = backoff.begin(name: name, from: address, now: at(seconds)) else {
                return nil
            }
            return pass
        }
        #expect(attempt(&backoff, "bob", from: here, .accepted, at: 0) == 0)
        // Three unfinished and two that failed.
        let unfinished = (0..<3).map { begin("u\($0)", from: here) }
        #expect(unfinished.allSatisfy { $0?.priority == .normal })
        for number in 3..<5 { #expect(attempt(&backoff, "u\(number)", from: here, at: 0) == 0) }
        #expect(begin("u5", from: here)?.priority == .low)
        #expect(begin("bob", from: here)?.priority == .normal)
        #expect(begin("u5", from: elsewhere)?.priority == .normal)
        for case let pass? in unfinished { backoff.end(pass, .unknown, now: start) }
        // Forgotten with the failures.
        #expect(begin("u6", from: here, at: 3_600)?.priority == .normal)
    }

    @Test func `asking while one has to wait does not make the wait longer`() {
        var backoff = LoginBackoff(.init())
        for _ in 0..<6 { _ = attempt(&backoff, from: here, at: 0) }
        for _ in 0..<1000 { #expect(attempt(&backoff, from: here, at: 0.5) == 1) }
        #expect(attempt(&backoff, from: here, at: 1) == 0)
    }

    @Test func `a success clears what was counted for the account`() {
        var backoff = LoginBackoff(.init())
        for _ in 0..<5 { _ = attempt(&backoff, from: here, at: 0) }
        #expect(attempt(&backoff, from: here, .accepted, at: 0) == 0)
        for _ in 0..<6 { #expect(attempt(&backoff, from: here, at: 0) == 0) }
    }

    @Test func `a success does not clear what was counted for the address`() {
        var limits = LoginBackoff.Limits()
        limits.address.free = 3
        var backoff = LoginBackoff(limits)
        for number in 0..<4 { _ = attempt(&backoff, "victim\(number)", from: here, at: 0) }
        #expect(attempt(&backoff, "mine", from: here, .accepted, at: 1) == 0)
        _ = attempt(&backoff, "victim5", from: here, at: 1)
        #expect(attempt(&backoff, "victim6", from: here, at: 1) == 2)
    }

    @Test func `guesses from many addresses slow one account down, for a minute at most`() {
        var backoff = LoginBackoff(.init())
        var longest = 0
        for number in 0..<1000 {
            longest = max(
                longest, attempt(&backoff, from: ClientAddress("10.0.\(number / 250).\(number % 250)"), at: 0))
        }
        #expect(longest == 1)
        var now = 0.0
        for number in 0..<50 {
            let address = ClientAddress("10.1.0.\(number)")
            let wait = attempt(&backoff, from: address, at: now)
            longest = max(longest, wait)
            now += Double(wait)
            _ = attempt(&backoff, from: address, at: now)
        }
        #expect(longest == 60)
    }

    @Test func `guesses from another address do not keep an account out of where it signed in before`() {
        var backoff = LoginBackoff(.init())
        _ = attempt(&backoff, from: here, .accepted, at: 0)
        for number in 0..<30 { _ = attempt(&backoff, from: ClientAddress("10.0.0.\(number)"), at: Double(number * 60)) }
        #expect(attempt(&backoff, from: elsewhere, at: 1741) > 0)
        #expect(attempt(&backoff, from: here, .accepted, at: 1741) == 0)
    }

    @Test func `an account is known where it signed in lately, at four addresses`() {
        var backoff = LoginBackoff(.init())
        let own = (0..<5).map { ClientAddress("192.0.2.\($0)") }
        for address in own + [own[1]] { _ = attempt(&backoff, from: address, .accepted, at: 0) }
        for number in 0..<30 { _ = attempt(&backoff, from: ClientAddress("10.0.0.\(number)"), at: Double(number * 60)) }
        #expect(attempt(&backoff, from: own[0], at: 1741) > 0)
        for address in own.dropFirst() { #expect(attempt(&backoff, from: address, .unknown, at: 1741) == 0) }
    }

    @Test func `once failures cost something, guesses do not run side by side`() throws {
        var backoff = LoginBackoff(.init())
        for _ in 0..<6 { _ = attempt(&backoff, from: here, at: 0) }
        guard case .proceed(let pass) = backoff.begin(name: "alice", from: here, now: at(10)) else {
            Issue.record("the wait was over")
            return
        }
        #expect(attempt(&backoff, from: here, at: 10) == 1)
        backoff.end(pass, .unknown, now: at(10))
        #expect(attempt(&backoff, from: here, at: 10) == 0)
    }

    @Test func `of attempts at once as many go through as may fail for free, and the others when those have succeeded`()
        throws
    {
        var backoff = LoginBackoff(.init())
        var underWay: [LoginBackoff.Attempt] = []
        for number in 0..<200 {
            switch backoff.begin(name: "alice", from: here, now: start) {
            case .proceed(let pass): underWay.append(pass)
            case .queue: #expect(number >= 5)
            case .wait: Issue.record("nothing failed")
            }
        }
        #expect(underWay.count == 5)
        for _ in 5..<200 {
            backoff.end(underWay.removeFirst(), .accepted, now: start)
            guard case .proceed(let pass) = backoff.begin(name: "alice", from: here, now: start, hasWaited: true) else {
                Issue.record("one has succeeded")
                return
            }
            underWay.append(pass)
        }
    }

    @Test func `who waited for guesses that all failed is refused`() {
        var backoff = LoginBackoff(.init())
        let underWay = (0..<5).compactMap { _ -> LoginBackoff.Attempt? in
            if case .proceed(let pass) = backoff.begin(name: "alice", from: here, now: start) { pass } else { nil }
        }
        for pass in underWay { backoff.end(pass, .refused, now: start) }
        guard case .wait(1) = backoff.begin(name: "alice", from: here, now: start, hasWaited: true) else {
            Issue.record("five were free")
            return
        }
    }

    @Test func `a guess that one provider refused counts also where another was out of reach, for a minute at most`() {
        var backoff = LoginBackoff(.init())
        for _ in 0..<6 { #expect(attempt(&backoff, from: here, .undecided, at: 0) == 0) }
        var now = 0.0
        var longest = 0
        for _ in 0..<20 {
            let wait = attempt(&backoff, from: here, .undecided, at: now)
            longest = max(longest, wait)
            now += Double(wait)
            #expect(attempt(&backoff, from: here, .undecided, at: now) == 0)
        }
        #expect(longest == 60)
    }

    @Test func `an hour without a failure and all is forgotten`() {
        var backoff = LoginBackoff(.init())
        for _ in 0..<6 { _ = attempt(&backoff, from: here, at: 0) }
        for _ in 0..<6 { #expect(attempt(&backoff, from: here, at: 3601) == 0) }
    }

    @Test func `the name counts in any case, and a name of any length is one`() {
        var backoff = LoginBackoff(.init())
        for name in ["alice", "Alice", "ALICE", "aLICE", "alicE", "alIce"] {
            _ = attempt(&backoff, name, from: here, at: 0)
        }
        #expect(attempt(&backoff, "alice", from: here, at: 0) == 1)
        #expect(attempt(&backoff, String(repeating: "x", count: 1 << 20), from: elsewhere, at: 0) == 0)
    }

    @Test func `what is remembered is bounded, and the failures of long ago go first`() {
        var limits = LoginBackoff.Limits()
        limits.entries = 100
        limits.address.free = .max
        var backoff = LoginBackoff(limits)
        for number in 0..<1000 { _ = attempt(&backoff, "n\(number)", from: elsewhere, at: Double(number) / 1000) }
        for _ in 0..<6 { _ = attempt(&backoff, "late", from: here, at: 2) }
        for number in 0..<30 { _ = attempt(&backoff, "m\(number)", from: elsewhere, at: 2) }
        #expect(backoff.remembered <= 103)
        #expect(attempt(&backoff, "late", from: here, at: 2) > 0)
    }
}

@Suite struct ClientAddressTests {
    @Test func `addresses of one IPv6 network are one`() {
        #expect(ClientAddress("2001:db8:1:2::1") == ClientAddress("2001:db8:1:2:ffff::9"))
        #expect(ClientAddress("2001:db8:1:2::1") != ClientAddress("2001:db8:1:3::1"))
        #expect(ClientAddress("2001:db8:1:2::1").description == "2001:db8:1:2::/64")
    }

    @Test func `an IPv4 address is itself, also where IPv6 carries it`() {
        #expect(ClientAddress("::ffff:192.0.2.7") == ClientAddress("192.0.2.7"))
        #expect(ClientAddress("192.0.2.7").description == "192.0.2.7")
    }

    @Test(arguments: ["", "localhost", "192.0.2.7:80", "1.2.3", "'; DROP", "::1%eth0"])
    func `what is no address is the unknown one`(text: String) {
        #expect(ClientAddress(text) == .unknown)
    }
}

/// The same through the front door.
@Suite struct ThrottlingTests {
    @Test(arguments: ["alice", "nobody", "no name at all!"])
    func `a name that exists and one that does not are slowed down alike`(name: String) async throws {
        let fixture = try await IdentityFixture()
        var answers: [ErrorCode?] = []
        for _ in 0..<8 { answers.append(await code { _ = try await fixture.signIn(name, Secret("wrong password")) }) }
        #expect(answers == Array(repeating: .credentialsInvalid, count: 6) + [.loginThrottled, .loginThrottled])
    }

    @Test func `the right password does not help while one has to wait, and does afterwards`() async throws {
        let fixture = try await IdentityFixture()
        for _ in 0..<6 { _ = await code { _ = try await fixture.signIn("alice", Secret("wrong password")) } }
        do {
            _ = try await fixture.signIn()
            Issue.record("the attempt was let through")
        } catch let error as PorticoError {
            #expect(error.code == .loginThrottled)
            #expect(error.retryAfter == 1)
        }
        fixture.clock.advance(1)
        _ = try await fixture.signIn()
    }

    @Test func `an attempt that has to wait costs neither a read nor a write`() async throws {
        let fixture = try await IdentityFixture()
        for _ in 0..<6 { _ = await code { _ = try await fixture.signIn("alice", Secret("wrong password")) } }
        _ = fixture.store.takeOperations()
        _ = await code { _ = try await fixture.signIn() }
        #expect(fixture.store.takeOperations() == [])
    }
}
