import AdapterKit
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

    @Test func oneCallerOrAdapterTakesNoMoreThanItsShare() {
        var shares = FairShares(perCaller: 2, perAdapter: 3)
        #expect(shares.take(slot("a", "slow")) == .taken && shares.take(slot("a", "slow")) == .taken)
        #expect(shares.take(slot("a", "quick")) == .refused)
        #expect(shares.take(slot("b", "slow")) == .taken)
        #expect(shares.take(slot("c", "slow")) == .refused)
        #expect(shares.take(slot("c", "quick")) == .taken)
        #expect(shares.leave(slot("a", "slow")) == [])
        #expect(shares.take(slot("c", "slow")) == .taken)
    }

    @Test func whoWaitsGetsThePlaceThatIsLeft() {
        var shares = FairShares(perCaller: 2, perAdapter: 3, queuePerCaller: 2, queuePerAdapter: 3)
        for _ in 0..<2 { #expect(shares.take(slot("noisy", "x")) == .taken) }
        #expect(shares.take(slot("other", "x")) == .taken)
        #expect(shares.take(slot("noisy", "x")) == .waits(1))
        #expect(shares.take(slot("noisy", "x")) == .waits(2))
        #expect(shares.take(slot("noisy", "x")) == .refused)
        #expect(shares.take(slot("quiet", "x")) == .waits(3))
        #expect(shares.take(slot("quiet", "x")) == .refused)
        #expect(shares.leave(slot("noisy", "x")) == [3])
        #expect(shares.giveUp(1) && !shares.giveUp(1))
        #expect(shares.leave(slot("other", "x")) == [2])
    }

    @Test func requestsOfNoAdapterCountForTheirCallerToo() {
        var shares = FairShares(perCaller: 2, perAdapter: 3, queuePerCaller: 1, queuePerAdapter: 3)
        #expect(shares.take(slot("a", nil)) == .taken && shares.take(slot("a", "x")) == .taken)
        #expect(shares.take(slot("a", nil)) == .waits(1) && shares.take(slot("a", "x")) == .refused)
        #expect(shares.take(slot("b", nil)) == .taken)
        #expect(shares.leave(slot("a", "x")) == [1])
    }

    @Test func oneCallersQueueLeavesAPlaceInAnAdaptersQueueToAnother() {
        var shares = FairShares(perCaller: 1, perAdapter: 1, queuePerCaller: 10, queuePerAdapter: 3)
        #expect(shares.take(slot("a", "x")) == .taken)
        #expect(shares.take(slot("a", "x")) == .waits(1) && shares.take(slot("a", "x")) == .waits(2))
        #expect(shares.take(slot("a", "x")) == .refused)
        #expect(shares.take(slot("b", "x")) == .waits(3))
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

    @Test func aRouteCoversItsPathAndWhatIsBelow() {
        let rate = RouteRate(path: "/api/v1/users", requestsPerMinute: 1)
        #expect(rate.covers("/api/v1/users") && rate.covers("/api/v1/users/users"))
        #expect(!rate.covers("/api/v1/usersX") && !rate.covers("/api/v1"))
        #expect(RouteRate(path: "/", requestsPerMinute: 1).covers("/health"))
        #expect(rate.covers("/api/v1/users/\u{301}"))
        // Equal to Swift and shorter in bytes.
        #expect(!RouteRate(path: "/caf\u{65}\u{301}", requestsPerMinute: 1).covers("/caf\u{E9}"))
    }
}
