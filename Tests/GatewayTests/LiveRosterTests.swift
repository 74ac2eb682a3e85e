import AdapterKit
import SyncEngine
import Testing

@testable import Gateway

@Suite struct LiveRosterTests {
    private let due = ContinuousClock.now + .seconds(60)

    private func roster(_ count: Int) -> LiveRoster<String> {
        var roster = LiveRoster<String>(limits: LiveLimits(streams: 10, perPrincipal: 10))
        for _ in 0..<count { _ = roster.admit("ann", following: ["notes"]) }
        return roster
    }

    @Test func `whoever waits is in a round once, and in the next after waiting again`() {
        var roster = roster(2)
        #expect(roster.wait(1, "a", seen: Revision(1), until: due) == nil)
        #expect(roster.wait(2, "b", seen: Revision(1), until: due) == nil)
        #expect(Set(roster.moved(["notes": Revision(2)])) == ["a", "b"])
        #expect(roster.moved(["notes": Revision(3)]) == [])
        #expect(roster.wait(1, "a", seen: Revision(3), until: due) == nil)
        #expect(roster.moved(["notes": Revision(4)]) == ["a"])
    }

    @Test func `what moved during a round is not waited over`() {
        var roster = roster(1)
        #expect(roster.wait(1, "a", seen: Revision(1), until: due) == nil)
        #expect(roster.moved(["notes": Revision(2)]) == ["a"])
        #expect(roster.moved(["notes": Revision(3)]) == [])
        #expect(roster.wait(1, "a", seen: Revision(2), until: due) == .changed)
    }

    @Test func `who is cut during a round is told nothing any more and cannot wait again`() {
        var roster = roster(2)
        #expect(roster.wait(1, "a", seen: Revision(1), until: due) == nil)
        #expect(roster.moved(["notes": Revision(2)]) == ["a"])
        #expect(roster.isOpen(1))
        #expect(roster.cut(1) == nil)
        #expect(!roster.isOpen(1))
        #expect(roster.wait(1, "a", seen: Revision(2), until: due) == .cut)
        #expect(roster.isOpen(2))
        #expect(roster.remove(2) == nil)
        #expect(!roster.isOpen(2))
    }

    @Test func `a stop during a round ends those whom it has in hand`() {
        var roster = roster(1)
        #expect(roster.wait(1, "a", seen: Revision(1), until: due) == nil)
        #expect(roster.moved(["notes": Revision(2)]) == ["a"])
        #expect(roster.stop() == [])
        #expect(!roster.isOpen(1))
        #expect(roster.wait(1, "a", seen: Revision(2), until: due) == .stopping)
    }

    @Test func `a stream is cut when its credential ends, whether it waits or not`() {
        let end = WireDate(secondsSince1970: 1_000)
        var roster = roster(1)
        for _ in 0..<2 { _ = roster.admit("bob", following: ["notes"], until: end) }
        #expect(roster.wait(1, "a", seen: Revision(1), until: due) == nil)
        #expect(roster.wait(2, "b", seen: Revision(1), until: due) == nil)
        #expect(roster.expired(at: WireDate(secondsSince1970: 999.9)) == [])
        #expect(roster.expired(at: end) == ["b"])
        #expect([1, 2, 3].map { roster.isOpen($0) } == [true, false, false])
        #expect(roster.wait(3, "c", seen: Revision(1), until: due) == .cut)
        #expect(roster.expired(at: end) == [])
    }
}
