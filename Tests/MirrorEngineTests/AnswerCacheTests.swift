import AdapterKit
import MirrorEngine
import Testing

@Suite struct AnswerCacheTests {
    private typealias Cache = AnswerCache<String>

    private static func key(_ input: String, of owner: String? = nil) -> AnswerCache<String>.Key {
        .init("search", input: Array(input.utf8), owner: owner)
    }

    private static func at(_ seconds: Double) -> WireDate { WireDate(secondsSinceReferenceDate: seconds) }

    private func cache(_ change: (inout CallThrough) -> Void = { _ in }) -> Cache {
        var settings = CallThrough(to: "hr", freshFor: .seconds(60), staleFor: .seconds(600))
        change(&settings)
        return Cache(settings)
    }

    private func isWaiting(_ asked: Cache.Asked, begins: Bool) -> Bool {
        if case .wait(let found) = asked { found == begins } else { false }
    }

    @Test func `all who ask the same wait for one call, and get its answer`() {
        var cache = cache()
        let key = Self.key("a")
        #expect(isWaiting(cache.ask(key, 1, at: Self.at(0)), begins: true))
        #expect(isWaiting(cache.ask(key, 2, at: Self.at(1)), begins: false))
        #expect(isWaiting(cache.ask(Self.key("b"), 3, at: Self.at(1)), begins: true))
        let ended = cache.end(key, .answered("x", bytes: 1), at: Self.at(2))
        #expect(ended.waiters == [1, 2])
        #expect(ended.answer?.0 == "x")
        #expect(ended.answer?.1.cacheStatus == "portico; fwd=miss; stored")
        // As old as the question.
        #expect(ended.answer?.1.seconds == 2)
    }

    @Test func `calls of one account leave room for another, until they have ended`() {
        var cache = cache()
        let (alice, bob) = (CallerIdentity.account("alice"), CallerIdentity.account("bob"))
        var begun: [String] = []
        for number in 0..<1_000 {
            let asked = cache.ask(Self.key("a\(number)"), UInt64(number), for: alice, at: Self.at(0))
            if isWaiting(asked, begins: true) { begun.append("a\(number)") }
            cache.leave(UInt64(number), of: Self.key("a\(number)"))
        }
        #expect(begun.count == Cache.mostCalls / 2)
        for number in 0..<200 {
            #expect(
                isWaiting(
                    cache.ask(Self.key("b\(number)"), UInt64(2_000 + number), for: bob, at: Self.at(0)), begins: true))
        }
        for input in begun { _ = cache.end(Self.key(input), .failed(detail: "late"), at: Self.at(1)) }
        #expect(isWaiting(cache.ask(Self.key("c"), 3_000, for: alice, at: Self.at(1)), begins: true))
    }

    @Test func `the answers of the account that has most go first`() {
        var cache = cache { $0.keptAnswers = 8 }
        func keep(_ input: String, _ account: CallerIdentity) {
            _ = cache.ask(Self.key(input), 1, for: account, at: Self.at(0))
            _ = cache.end(Self.key(input), .answered("x", bytes: 1), at: Self.at(0))
        }
        keep("b1", .account("bob"))
        keep("b2", .account("bob"))
        for number in 0..<20 { keep("a\(number)", .account("alice")) }
        #expect(cache.fresh(Self.key("b1"), at: Self.at(1)) != nil)
        #expect(cache.fresh(Self.key("b2"), at: Self.at(1)) != nil)
        #expect(cache.count <= 8)
    }

    @Test func `a fresh answer is used again, and an older one asked for`() {
        var cache = cache()
        let key = Self.key("a")
        _ = cache.ask(key, 1, at: Self.at(0))
        _ = cache.end(key, .answered("x", bytes: 1), at: Self.at(0))
        #expect(cache.fresh(key, at: Self.at(60))?.1.cacheStatus == "portico; hit")
        #expect(cache.fresh(key, at: Self.at(60.5)) == nil)
        #expect(isWaiting(cache.ask(key, 2, at: Self.at(61)), begins: true))
        let ended = cache.end(key, .answered("y", bytes: 1), at: Self.at(61))
        #expect(ended.answer?.1.cacheStatus == "portico; fwd=stale; stored")
    }

    @Test func `an answer that was old when it came is fresh from then on, and as old as it was`() {
        var cache = cache()
        let key = Self.key("a")
        _ = cache.ask(key, 1, at: Self.at(0))
        let ended = cache.end(key, .answered("x", bytes: 1, age: .seconds(500)), at: Self.at(1))
        #expect(ended.answer?.1.seconds == 501)
        #expect(cache.fresh(key, at: Self.at(60))?.1.seconds == 560)
        #expect(cache.fresh(key, at: Self.at(61)) == nil)
        // Its last good one may be served as long as it is not too old, counted from the first system.
        _ = cache.ask(key, 2, at: Self.at(100))
        #expect(cache.end(key, .failed(detail: "upstream-failed"), at: Self.at(100)).answer?.1.seconds == 600)
        _ = cache.ask(key, 3, at: Self.at(101))
        #expect(cache.end(key, .failed(detail: "upstream-failed"), at: Self.at(101)).answer == nil)
    }

    @Test func `an answer that was too old when it came is served to nobody and replaces none`() {
        var cache = cache()
        let key = Self.key("a")
        _ = cache.ask(key, 1, at: Self.at(0))
        #expect(cache.end(key, .answered("old", bytes: 1, age: .seconds(601)), at: Self.at(0)).answer == nil)
        #expect(cache.count == 0)
        _ = cache.ask(key, 2, at: Self.at(0))
        _ = cache.end(key, .answered("x", bytes: 1), at: Self.at(0))
        _ = cache.ask(key, 3, at: Self.at(100))
        let ended = cache.end(key, .answered("old", bytes: 1, age: .seconds(601)), at: Self.at(100))
        #expect(ended.answer?.0 == "x")
        #expect(ended.answer?.1.cacheStatus == "portico; fwd=stale; detail=upstream-stale")
    }

    @Test func `the last good answer is served on failure, up to its age`() {
        var cache = cache()
        let key = Self.key("a")
        _ = cache.ask(key, 1, at: Self.at(0))
        _ = cache.end(key, .answered("x", bytes: 1), at: Self.at(0))
        _ = cache.ask(key, 2, at: Self.at(600))
        let failed = cache.end(key, .failed(detail: "upstream-failed"), at: Self.at(600))
        #expect(failed.answer?.0 == "x")
        #expect(failed.answer?.1.cacheStatus == "portico; fwd=stale; detail=upstream-failed")
        #expect(failed.answer?.1.seconds == 600)
        _ = cache.ask(key, 3, at: Self.at(601))
        #expect(cache.end(key, .failed(detail: "upstream-failed"), at: Self.at(601)).answer == nil)
    }

    @Test func `who has waited long enough gets the last good answer, and the call goes on for the others`() {
        var cache = cache()
        let key = Self.key("a")
        _ = cache.ask(key, 1, at: Self.at(0))
        #expect(cache.overdue(1, of: key, at: Self.at(2)) == nil)
        _ = cache.end(key, .answered("x", bytes: 1), at: Self.at(3))
        _ = cache.ask(key, 2, at: Self.at(100))
        _ = cache.ask(key, 3, at: Self.at(101))
        let overdue = cache.overdue(2, of: key, at: Self.at(102))
        #expect(overdue?.0 == "x")
        #expect(overdue?.1.cacheStatus == "portico; fwd=stale; detail=upstream-timeout")
        #expect(cache.overdue(2, of: key, at: Self.at(102)) == nil)
        #expect(cache.end(key, .answered("y", bytes: 1), at: Self.at(103)).waiters == [3])
    }

    @Test func `a caller who leaves ends no call`() {
        var cache = cache()
        let key = Self.key("a")
        _ = cache.ask(key, 1, at: Self.at(0))
        cache.leave(1, of: key)
        #expect(isWaiting(cache.ask(key, 2, at: Self.at(1)), begins: false))
        #expect(cache.end(key, .answered("x", bytes: 1), at: Self.at(2)).waiters == [2])
    }

    @Test func `an error of the other system is not kept and takes nothing away`() {
        var cache = cache()
        let key = Self.key("a")
        _ = cache.ask(key, 1, at: Self.at(0))
        _ = cache.end(key, .answered("x", bytes: 1), at: Self.at(0))
        _ = cache.ask(key, 2, at: Self.at(100))
        #expect(cache.end(key, .refused, at: Self.at(100)).answer == nil)
        _ = cache.ask(key, 3, at: Self.at(101))
        #expect(cache.end(key, .failed(detail: "d"), at: Self.at(101)).answer?.0 == "x")
    }

    @Test func `what a caller may not see any more is not served to him`() {
        var cache = cache()
        let key = Self.key("a", of: "alice")
        _ = cache.ask(key, 1, at: Self.at(0))
        _ = cache.end(key, .answered("x", bytes: 1), at: Self.at(0))
        _ = cache.ask(key, 2, at: Self.at(100))
        #expect(cache.end(key, .denied, at: Self.at(100)).answer == nil)
        _ = cache.ask(key, 3, at: Self.at(101))
        #expect(cache.end(key, .failed(detail: "d"), at: Self.at(101)).answer == nil)
    }

    @Test func `answers of a sign-in are no other's, and go with it`() {
        var cache = cache()
        for owner in ["alice", "bob"] {
            _ = cache.ask(Self.key("a", of: owner), 1, at: Self.at(0))
            _ = cache.end(Self.key("a", of: owner), .answered("of \(owner)", bytes: 1), at: Self.at(0))
        }
        #expect(cache.fresh(Self.key("a", of: "alice"), at: Self.at(1))?.0 == "of alice")
        #expect(cache.fresh(Self.key("a"), at: Self.at(1)) == nil)
        // One call is under way when the sign-in ends.
        _ = cache.ask(Self.key("b", of: "alice"), 2, at: Self.at(1))
        cache.forget("alice")
        #expect(cache.fresh(Self.key("a", of: "alice"), at: Self.at(1)) == nil)
        _ = cache.end(Self.key("b", of: "alice"), .answered("late", bytes: 1), at: Self.at(2))
        #expect(cache.fresh(Self.key("b", of: "alice"), at: Self.at(2)) == nil)
        #expect(!cache.holds("alice"))
        #expect(cache.holds("bob"))
        #expect(cache.count == 1)
    }

    @Test func `what was used longest ago goes first, and nothing too large is kept`() {
        var cache = cache {
            $0.keptAnswers = 8
            $0.keptBytes = 1_000
        }
        for number in 0..<8 { add("k\(number)", 10, to: &cache) }
        #expect(cache.fresh(Self.key("k0"), at: Self.at(1)) != nil)
        add("k8", 10, to: &cache)
        #expect(cache.count == 6)
        #expect(cache.fresh(Self.key("k0"), at: Self.at(1)) != nil)
        #expect(cache.fresh(Self.key("k1"), at: Self.at(1)) == nil)
        add("large", 124, to: &cache)
        #expect(cache.fresh(Self.key("large"), at: Self.at(1)) == nil)
    }

    private func add(_ input: String, _ bytes: Int, to cache: inout Cache) {
        _ = cache.ask(Self.key(input), 1, at: Self.at(0))
        _ = cache.end(Self.key(input), .answered("x", bytes: bytes), at: Self.at(0))
    }

    @Test func `so many calls are under way at most, and a last good answer is served instead of another one`() {
        var cache = cache()
        _ = cache.ask(Self.key("kept"), 1, at: Self.at(0))
        _ = cache.end(Self.key("kept"), .answered("x", bytes: 1), at: Self.at(0))
        for number in 0..<Cache.mostCalls {
            _ = cache.ask(Self.key("k\(number)"), 1, for: .account("\(number)"), at: Self.at(100))
        }
        guard case .overloaded = cache.ask(Self.key("more"), 2, at: Self.at(100)) else {
            Issue.record("another call was begun")
            return
        }
        guard case .answer("x", let age) = cache.ask(Self.key("kept"), 3, at: Self.at(100)) else {
            Issue.record("the last good answer was not served")
            return
        }
        #expect(age.cacheStatus == "portico; fwd=stale; detail=upstream-overloaded")
        #expect(isWaiting(cache.ask(Self.key("k1"), 4, at: Self.at(100)), begins: false))
        _ = cache.end(Self.key("k0"), .refused, at: Self.at(100))
        #expect(isWaiting(cache.ask(Self.key("more"), 5, at: Self.at(100)), begins: true))
    }

    @Test(arguments: 0..<200)
    func `whatever happens, the limits hold and every waiter is told once`(seed: Int) {
        var random = SeededNumbers(seed)
        var cache = cache {
            $0.keptAnswers = 5
            $0.keptBytes = 400
        }
        var (waiting, under): (Set<UInt64>, Set<Cache.Key>) = ([], [])
        var now = 0.0
        for step in 0..<400 {
            now += Double(random.next(50))
            let key = Self.key("k\(random.next(8))", of: [nil, "alice", "bob"][random.next(3)])
            switch random.next(6) {
            case 0, 1:
                if case .wait(let begins) = cache.ask(key, UInt64(step), at: Self.at(now)) {
                    waiting.insert(UInt64(step))
                    #expect(begins == under.insert(key).inserted)
                }
            case 2:
                guard let call = under.sorted(by: { "\($0)" < "\($1)" }).first else { continue }
                under.remove(call)
                let outcomes: [Cache.Outcome] = [
                    .answered("x", bytes: random.next(80)), .failed(detail: "d"), .denied, .refused,
                ]
                let ended = cache.end(call, outcomes[random.next(4)], at: Self.at(now))
                #expect(ended.waiters.isSubset(of: waiting))
                waiting.subtract(ended.waiters)
                #expect((ended.answer?.1.seconds ?? 0) <= 600 || ended.answer?.1.cacheStatus.contains("stored") == true)
            case 3: cache.forget("alice")
            case 4:
                guard let waiter = waiting.min() else { continue }
                for call in under where cache.overdue(waiter, of: call, at: Self.at(now)) != nil {
                    #expect(waiting.remove(waiter) != nil)
                }
            default: if let (_, age) = cache.fresh(key, at: Self.at(now)) { #expect(age.seconds <= 60) }
            }
            #expect(cache.count <= 5)
            #expect(cache.bytes >= 0 && cache.bytes <= 400)
        }
        for call in under { waiting.subtract(cache.end(call, .refused, at: Self.at(now)).waiters) }
        #expect(waiting.isEmpty)
        #expect(!cache.holds("alice") || cache.count > 0)
    }
}

/// The same numbers for the same seed (SplitMix64).
struct SeededNumbers {
    private var state: UInt64

    init(_ seed: Int) { state = UInt64(bitPattern: Int64(seed)) }

    mutating func next(_ bound: Int) -> Int {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return Int((mixed ^ (mixed >> 31)) % UInt64(bound))
    }
}
