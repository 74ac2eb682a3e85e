import AdapterKit
import Testing

@testable import SQLiteStore

@Suite struct ReadShareTests {
    private let alice = CallerIdentity.account("alice")
    private let bob = CallerIdentity.account("bob")
    private let carol = CallerIdentity.address("192.0.2.1")

    private func number(_ admission: ReadShares.Admission) -> UInt64 {
        switch admission {
        case .admitted(let number), .waits(let number, _): number
        case .refused: 0
        }
    }

    @Test func `a caller has all places but one at most`() {
        let shares = Shared(ReadShares.Limits(places: 3))
        #expect(shares.enter(alice) == .admitted(1))
        #expect(shares.enter(alice) == .admitted(2))
        #expect(shares.enter(alice) == .waits(3, evicting: nil))
        #expect(shares.enter(bob) == .admitted(4))
        #expect(shares.leave(4) == [])
        #expect(shares.leave(1) == [3])
    }

    @Test func `the caller with the fewest permits is next, however many others came before`() {
        let shares = Shared(ReadShares.Limits(places: 2))
        let (first, second) = (number(shares.enter(alice)), number(shares.enter(bob)))
        for _ in 0..<10 { _ = shares.enter(alice) }
        let carols = number(shares.enter(carol))
        #expect(shares.leave(second) == [carols])
        #expect(shares.leave(first).count == 1)
    }

    @Test func `a full queue takes a caller with fewer reads in it, and refuses one with many`() {
        let shares = Shared(ReadShares.Limits(places: 2, waiting: 4))
        for caller in [alice, bob] { _ = shares.enter(caller) }
        let waiting = (0..<2).map { _ in number(shares.enter(alice)) }
        #expect(shares.enter(alice) == .refused)
        for _ in 0..<2 { _ = shares.enter(bob) }
        guard case .waits(_, let evicted?) = shares.enter(carol) else {
            Issue.record("nobody made room")
            return
        }
        #expect(evicted == waiting[1] || evicted > waiting[1])
        #expect(shares.giveUp(evicted) == false)
    }

    @Test func `as many turns end as there are callers without a place`() {
        let shares = Shared(ReadShares.Limits(places: 2))
        let (first, second) = (number(shares.enter(alice)), number(shares.enter(bob)))
        #expect(!shares.endsTurn(of: first))
        _ = shares.enter(alice)
        #expect(!shares.endsTurn(of: first))
        let carols = number(shares.enter(carol))
        #expect(shares.endsTurn(of: first))
        #expect(shares.endsTurn(of: first))
        #expect(!shares.endsTurn(of: second))
        #expect(shares.leave(first) == [carols])
        // Alice has no place any more, and a read of hers waits.
        #expect(shares.endsTurn(of: second))
    }

    @Test func `what a caller keeps is not taken from it`() {
        let shares = Shared(ReadShares.Limits(places: 2, kept: 1))
        let first = number(shares.enter(alice))
        _ = shares.enter(bob)
        _ = shares.enter(carol)
        #expect(!shares.endsTurn(of: first))
        let wide = Shared(ReadShares.Limits(places: 3, kept: 1))
        let alices = [number(wide.enter(alice)), number(wide.enter(alice))]
        _ = wide.enter(bob)
        _ = wide.enter(carol)
        #expect(wide.endsTurn(of: alices[0]))
        #expect(!wide.endsTurn(of: alices[1]))
    }

    @Test(arguments: 0..<200)
    func `whatever comes and goes, places are never more than there are, and none is left unused`(seed: Int) {
        var random = Numbers(state: UInt64(seed) &+ 1)
        let limits = ReadShares.Limits(places: 2 + seed % 4, waiting: 8)
        let shares = Shared(limits)
        let callers = (0..<4).map { CallerIdentity.account("\($0)") }
        var (running, waiting): ([UInt64: CallerIdentity], [UInt64: CallerIdentity]) = ([:], [:])
        for _ in 0..<300 {
            switch random.next() % 4 {
            case 0, 1:
                let caller = callers[Int(random.next() % 4)]
                switch shares.enter(caller) {
                case .admitted(let number): running[number] = caller
                case .waits(let number, let evicted):
                    waiting[number] = caller
                    if let evicted { waiting[evicted] = nil }
                case .refused: continue
                }
            case 2:
                guard let number = running.keys.sorted().first else { continue }
                running[number] = nil
                for admitted in shares.leave(number) { running[admitted] = waiting.removeValue(forKey: admitted) }
            default:
                guard let number = waiting.keys.sorted().last else { continue }
                #expect(shares.giveUp(number))
                waiting[number] = nil
            }
            #expect(running.count <= limits.places)
            #expect(waiting.count <= limits.waiting)
            for caller in callers {
                let places = running.values.count { $0 == caller }
                #expect(places <= limits.placesPerCaller)
                let waits = waiting.values.contains(caller)
                #expect(!waits || running.count == limits.places || places == limits.placesPerCaller)
            }
        }
    }
}

/// The machine where expectations may change it.
private final class Shared {
    private var shares: ReadShares

    init(_ limits: ReadShares.Limits) {
        shares = ReadShares(limits)
    }

    func enter(_ caller: CallerIdentity) -> ReadShares.Admission { shares.enter(caller) }
    func leave(_ number: UInt64) -> [UInt64] { shares.leave(number) }
    func giveUp(_ number: UInt64) -> Bool { shares.giveUp(number) }
    func endsTurn(of number: UInt64) -> Bool { shares.endsTurn(of: number) }
}

private struct Numbers {
    var state: UInt64

    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return state >> 33
    }
}
