import AdapterKit
import RecordStorage
import Testing

@testable import Gateway

@Suite struct LiveSubscriptionsTests {
    private let due = ContinuousClock.now + .seconds(60)

    private func subscriptions(_ count: Int) -> LiveSubscriptions<String> {
        var subscriptions = LiveSubscriptions<String>(limits: LiveLimits(streams: 10, perPrincipal: 10))
        for _ in 0..<count { _ = subscriptions.admit("ann", following: ["notes"]) }
        return subscriptions
    }

    @Test func `whoever waits is in a round once, and in the next after waiting again`() {
        var subscriptions = subscriptions(2)
        #expect(subscriptions.wait(1, "a", seen: Revision(1), until: due) == nil)
        #expect(subscriptions.wait(2, "b", seen: Revision(1), until: due) == nil)
        #expect(Set(subscriptions.noteMoves(["notes": Revision(2)])) == ["a", "b"])
        #expect(subscriptions.noteMoves(["notes": Revision(3)]) == [])
        #expect(subscriptions.wait(1, "a", seen: Revision(3), until: due) == nil)
        #expect(subscriptions.noteMoves(["notes": Revision(4)]) == ["a"])
    }

    @Test func `what moved during a round is not waited over`() {
        var subscriptions = subscriptions(1)
        #expect(subscriptions.wait(1, "a", seen: Revision(1), until: due) == nil)
        #expect(subscriptions.noteMoves(["notes": Revision(2)]) == ["a"])
        #expect(subscriptions.noteMoves(["notes": Revision(3)]) == [])
        #expect(subscriptions.wait(1, "a", seen: Revision(2), until: due) == .changed)
    }

    @Test func `who is cut during a round is told nothing any more and cannot wait again`() {
        var subscriptions = subscriptions(2)
        #expect(subscriptions.wait(1, "a", seen: Revision(1), until: due) == nil)
        #expect(subscriptions.noteMoves(["notes": Revision(2)]) == ["a"])
        #expect(subscriptions.isOpen(1))
        #expect(subscriptions.cut(1) == nil)
        #expect(!subscriptions.isOpen(1))
        #expect(subscriptions.wait(1, "a", seen: Revision(2), until: due) == .cut)
        #expect(subscriptions.isOpen(2))
        #expect(subscriptions.remove(2) == nil)
        #expect(!subscriptions.isOpen(2))
    }

    @Test func `a stop during a round ends those whom it has in hand`() {
        var subscriptions = subscriptions(1)
        #expect(subscriptions.wait(1, "a", seen: Revision(1), until: due) == nil)
        #expect(subscriptions.noteMoves(["notes": Revision(2)]) == ["a"])
        #expect(subscriptions.stop() == [])
        #expect(!subscriptions.isOpen(1))
        #expect(subscriptions.wait(1, "a", seen: Revision(2), until: due) == .stopping)
    }

    @Test func `a stream is cut when its credential ends, whether it waits or not`() {
        let end = WireDate(secondsSince1970: 1_000)
        var subscriptions = subscriptions(1)
        for _ in 0..<2 { _ = subscriptions.admit("bob", following: ["notes"], until: end) }
        #expect(subscriptions.wait(1, "a", seen: Revision(1), until: due) == nil)
        #expect(subscriptions.wait(2, "b", seen: Revision(1), until: due) == nil)
        #expect(subscriptions.cutExpired(at: WireDate(secondsSince1970: 999.9)) == [])
        #expect(subscriptions.cutExpired(at: end) == ["b"])
        #expect([1, 2, 3].map { subscriptions.isOpen($0) } == [true, false, false])
        #expect(subscriptions.wait(3, "c", seen: Revision(1), until: due) == .cut)
        #expect(subscriptions.cutExpired(at: end) == [])
    }
}
