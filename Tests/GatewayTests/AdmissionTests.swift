import AdapterKit
import Admission
import AdmissionTesting
import Testing

@testable import Gateway

@Suite struct AdmissionTests {
    private static let second: Int64 = 1_000_000_000

    @Test func aMinutesRequestsMayComeAtOnceAndThenOneByOne() {
        var table = RateTable(limit: 60, capacity: 10)
        for left in (0..<60).reversed() { #expect(table.count("a", now: Self.second).remaining == left) }
        let refused = table.count("a", now: Self.second)
        #expect(refused == RateLimitState(limit: 60, remaining: 0, wait: 1, isExceeded: true))
        #expect(!table.count("a", now: 2 * Self.second).isExceeded)
        #expect(table.count("a", now: 2 * Self.second).isExceeded)
        #expect(table.count("a", now: 200 * Self.second).remaining == 59)
    }

    @Test func howACallerStandsIsToldWithoutCountingIt() {
        var table = RateTable(limit: 2, capacity: 10)
        for _ in 0..<3 { #expect(table.state(of: "a", now: 0).remaining == 2) }
        #expect(table.count("a", now: 0).remaining == 1)
        for _ in 0..<3 { #expect(table.state(of: "a", now: 0).remaining == 1) }
        #expect(table.count("a", now: 0).remaining == 0)
        #expect(table.state(of: "a", now: 0).remaining == 0)
        #expect(table.state(of: "a", now: 30 * Self.second).remaining == 1)
    }

    @Test func callersDoNotPayForEachOther() {
        var table = RateTable(limit: 1, capacity: 10)
        #expect(!table.count("a", now: 0).isExceeded)
        #expect(table.count("a", now: 0).isExceeded)
        #expect(!table.count("b", now: 0).isExceeded)
    }

    @Test func callersBeyondTheCapacityShareOneAllowance() {
        var table = RateTable(limit: 1, capacity: 2)
        for caller in ["a", "b", "c"] { #expect(!table.count(caller, now: 0).isExceeded) }
        #expect(table.count("d", now: 0).isExceeded)
        #expect(!table.count("d", now: 61 * Self.second).isExceeded)
        #expect(!table.count("e", now: 61 * Self.second).isExceeded)
    }

    private func slot(_ caller: String, _ adapter: String?) -> FairShares.Slot {
        .init(caller: caller, adapter: adapter)
    }

    private func shares(
        perCaller: Int, perAdapter: Int, queuePerCaller: Int = 0, queuePerAdapter: Int = 0
    ) -> SteppedPolicy<FairShares> {
        SteppedPolicy(
            FairShares(
                perCaller: perCaller, perAdapter: perAdapter, queuePerCaller: queuePerCaller,
                queuePerAdapter: queuePerAdapter))
    }

    @Test func oneCallerOrAdapterTakesNoMoreThanItsShare() {
        let shares = shares(perCaller: 2, perAdapter: 3)
        let entries = [
            slot("a", "slow"), slot("a", "slow"), slot("a", "quick"), slot("b", "slow"), slot("c", "slow"),
            slot("c", "quick"),
        ].map { shares.enter($0) }
        #expect(entries == [.admitted, .admitted, .refused, .admitted, .refused, .admitted])
        #expect(shares.leave(1) == [])
        #expect(shares.enter(slot("c", "slow")) == .admitted)
    }

    @Test func whoWaitsGetsThePlaceThatIsLeft() {
        let shares = shares(perCaller: 2, perAdapter: 3, queuePerCaller: 2, queuePerAdapter: 3)
        let callers = ["noisy", "noisy", "other", "noisy", "noisy", "noisy", "quiet", "quiet"]
        let entries = callers.map { shares.enter(slot($0, "x")) }
        #expect(entries == [.admitted, .admitted, .admitted, .waits, .waits, .refused, .waits, .refused])
        #expect(shares.leave(1) == [7])
        #expect(shares.abandon(4) == [])
        #expect(shares.leave(3) == [5])
    }

    @Test func requestsOfNoAdapterCountForTheirCallerToo() {
        let shares = shares(perCaller: 2, perAdapter: 3, queuePerCaller: 1, queuePerAdapter: 3)
        let entries = [slot("a", nil), slot("a", "x"), slot("a", nil), slot("a", "x"), slot("b", nil)].map {
            shares.enter($0)
        }
        #expect(entries == [.admitted, .admitted, .waits, .refused, .admitted])
        #expect(shares.leave(2) == [3])
    }

    @Test func oneCallersQueueLeavesAPlaceInAnAdaptersQueueToAnother() {
        let shares = shares(perCaller: 1, perAdapter: 1, queuePerCaller: 10, queuePerAdapter: 3)
        let entries = ["a", "a", "a", "a", "b"].map { shares.enter(slot($0, "x")) }
        #expect(entries == [.admitted, .waits, .waits, .refused, .waits])
    }

    @Test func theSharesKeepTheirPromisesWhateverComesAndGoes() {
        let (perCaller, perAdapter) = (2, 3)
        var scenario = AdmissionScenario(patience: 64) { _ in
            FairShares(perCaller: perCaller, perAdapter: perAdapter, queuePerCaller: 4, queuePerAdapter: 6)
        } request: { random in
            FairShares.Slot(
                caller: "\(Int.random(in: 0..<4, using: &random))",
                adapter: Int.random(in: 0..<4, using: &random) == 0 ? nil : "\(Int.random(in: 0..<2, using: &random))")
        }
        scenario.mostWaiting = 4 * 4
        func counts(_ running: [SimulatedRequest<FairShares>]) -> (callers: [String: Int], adapters: [String: Int]) {
            running.reduce(into: ([:], [:])) { counts, one in
                counts.0[one.request.caller, default: 0] += 1
                if let adapter = one.request.adapter { counts.1[adapter, default: 0] += 1 }
            }
        }
        scenario.broken = { running, _ in
            let counts = counts(running)
            return counts.callers.values.contains { $0 > perCaller }
                || counts.adapters.values.contains { $0 > perAdapter } ? "\(counts)" : nil
        }
        scenario.mayGo = { waiting, running, _ in
            let counts = counts(running)
            return counts.callers[waiting.request.caller, default: 0] < perCaller
                && waiting.request.adapter.map { counts.adapters[$0, default: 0] < perAdapter } ?? true
        }
        #expect(scenario.firstViolation(seeds: Seeds.taken()) == nil)
    }

    @Test func oneCallersRequestsAndBatchesLeaveAPlaceToOthersWhateverIsConfigured() {
        var limits = GatewayLimits()
        for inFlight in [1, 2, 3, 4, 5, 6, 12, 40, 1024, 100_000] {
            limits.inFlight = inFlight
            for (perCaller, queue) in [(1, 0), (256, 512), (100_000, 10_000)] {
                limits.inFlightPerCaller = perCaller
                limits.queuePerCaller = queue
                #expect(limits.callerShare >= 1 && limits.callerQueue >= 0)
                let batches = max(1, limits.callerShare / 4) + limits.callerQueue / 4
                guard inFlight > 5 else { continue }
                #expect(limits.callerShare + limits.callerQueue + batches < inFlight, "\(inFlight)")
            }
        }
    }

    @Test func oneAddressWaitsForNoMoreBodiesThanItsShare() {
        var shares = AddressShares(perAddress: 2)
        #expect(shares.take("a") && shares.take("a") && shares.isFull("a"))
        #expect(!shares.take("a") && !shares.isFull("b") && shares.take("b"))
        shares.leave("a")
        #expect(!shares.isFull("a") && shares.take("a") && !shares.take("a"))
        for address in ["a", "a", "b"] { shares.leave(address) }
        #expect(shares.isEmpty)
        shares.leave("nobody")
        #expect(shares.isEmpty)
    }

    @Test func theShareOfIncompleteBodiesIsAQuarterUnlessItIsSet() {
        var limits = GatewayLimits()
        #expect(limits.incompleteShare == 256)
        limits.inFlight = 3
        #expect(limits.incompleteShare == 1)
        limits.incompletePerAddress = 7
        #expect(limits.incompleteShare == 7)
    }

    @Test func aBodyThatIsNotReadToItsEndGivesItsShareBack() async throws {
        let bodies = IncompleteBodies(perAddress: 1)
        let network = ["2001:db8::1", "2001:db8::2"]
        let read = try await bodies.read(from: network[0]) {
            #expect(throws: PorticoError.self) { try bodies.check(network[1]) }
            #expect(throws: Never.self) { try bodies.check("2001:db8:0:1::1") }
            await #expect(throws: PorticoError.self) { try await bodies.read(from: network[1]) { [] } }
            return [1]
        }
        #expect(read == [1])
        await #expect(throws: CancellationError.self) {
            try await bodies.read(from: network[0]) { throw CancellationError() }
        }
        #expect(throws: Never.self) { try bodies.check(network[1]) }
    }

    @Test func aRouteCoversItsPathAndWhatIsBelow() throws {
        func covers(_ path: String, _ asked: String) throws -> Bool {
            RouteRate(path: path, requestsPerMinute: 1).covers(try #require(RequestTarget(asked)))
        }
        let users = "/api/v1/users"
        for below in [users, "\(users)/users", "\(users)?a=b", "\(users)/\u{301}", "\(users)/"] {
            #expect(try covers(users, below))
        }
        #expect(try !covers(users, "\(users)X") && !covers(users, "/api/v1"))
        #expect(try covers("/", "/health"))
        // Routes are found by decoded segments; an escaped slash is no separator there.
        #expect(try covers(users, "/api/v1/%75sers") && covers("/caf\u{E9}", "/caf%C3%A9"))
        #expect(try !covers(users, "/api%2Fv1/users"))
        // Equal to Swift and shorter in bytes.
        #expect(try !covers("/caf\u{65}\u{301}", "/caf\u{E9}"))
    }
}
