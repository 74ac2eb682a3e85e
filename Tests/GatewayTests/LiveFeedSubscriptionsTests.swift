import AdapterKit
import NIOCore
import RecordStorage
import Testing

@testable import Gateway

@Suite struct LiveFeedSubscriptionsTests {
    private let lunch: RecordID = "lunch"

    private func changes(
        _ position: Int64, _ group: RecordID, joined: [String] = [], left: [String] = []
    ) -> LiveFeedChanges {
        let membership = LiveFeedChanges.Membership(
            joined: joined, left: left, departureEvent: ByteBuffer(string: "bye"))
        return LiveFeedChanges(
            position: Revision(position), group: group, event: ByteBuffer(string: "\(position)"),
            membership: joined.isEmpty && left.isEmpty ? nil : membership)
    }

    private func page(_ changes: LiveFeedChanges...) -> LiveFeedPage {
        LiveFeedPage(changes: changes, through: changes.last?.position ?? Revision(0), isComplete: true)
    }

    /// Who is told what, in order.
    private func told(_ deliveries: [LiveFeedSubscriptions<String>.Delivery]) -> [String] {
        deliveries.flatMap { delivery in
            delivery.sinks.sorted().map { "\($0): \(String(buffer: delivery.event))" }
        }
    }

    @Test func `a group's listeners are told, and nobody else`() {
        var subscriptions = LiveFeedSubscriptions<String>()
        #expect(subscriptions.attach(1, "alice", hearing: [lunch], knowing: Revision(5), "A") == true)
        #expect(subscriptions.attach(2, "bob", hearing: ["other"], knowing: Revision(5), "B") == true)
        #expect(told(subscriptions.take(page(changes(6, lunch), changes(7, "other")))) == ["A: 6", "B: 7"])
    }

    @Test func `who knows less than was read has to look again`() {
        var subscriptions = LiveFeedSubscriptions<String>()
        #expect(subscriptions.attach(1, "alice", hearing: [lunch], knowing: Revision(5), "A") == true)
        _ = subscriptions.take(page(changes(8, lunch)))
        #expect(subscriptions.attach(2, "bob", hearing: [lunch], knowing: Revision(7), "B") == false)
        #expect(subscriptions.attach(2, "bob", hearing: [lunch], knowing: Revision(8), "B") == true)
    }

    @Test func `who comes hears from then on and who goes hears the departureEvent alone`() {
        var subscriptions = LiveFeedSubscriptions<String>()
        _ = subscriptions.attach(1, "alice", hearing: [lunch], knowing: Revision(5), "A")
        _ = subscriptions.attach(2, "bob", hearing: [], knowing: Revision(5), "B")
        let first = subscriptions.take(page(changes(6, lunch), changes(7, lunch, joined: ["bob"]), changes(8, lunch)))
        #expect(told(first) == ["A: 6", "A: 7", "B: 7", "A: 8", "B: 8"])
        let second = subscriptions.take(page(changes(9, lunch, left: ["bob"]), changes(10, lunch)))
        #expect(told(second) == ["A: 9", "B: bye", "A: 10"])
    }

    @Test func `a change that a stream found out for itself is not applied to it again`() {
        var subscriptions = LiveFeedSubscriptions<String>()
        _ = subscriptions.attach(1, "alice", hearing: [lunch], knowing: Revision(5), "A")
        // Bob joined at 6 and left at 7 before his stream looked, at 8.
        _ = subscriptions.attach(2, "bob", hearing: [], knowing: Revision(8), "B")
        let deliveries = subscriptions.take(
            page(changes(6, lunch, joined: ["bob"]), changes(7, lunch, left: ["bob"]), changes(9, lunch)))
        #expect(told(deliveries) == ["A: 6", "A: 7", "A: 9"])
    }

    @Test func `without listeners the log is not followed`() {
        var subscriptions = LiveFeedSubscriptions<String>()
        _ = subscriptions.attach(1, "alice", hearing: [lunch], knowing: Revision(5), "A")
        subscriptions.detach(1)
        #expect(subscriptions.position == nil)
        #expect(told(subscriptions.take(page(changes(6, lunch)))) == [])
    }

    @Test func `an event loop that falls behind gets no more signals until it has written some`() {
        let (loop, other) = (ObjectIdentifier(Int.self), ObjectIdentifier(String.self))
        var backlog = SignalBacklog()
        let half = SignalBacklog.maximum / 2
        #expect(backlog.begin(half, on: loop) == true)
        #expect(backlog.begin(half, on: loop) == true)
        #expect(backlog.begin(1, on: loop) == false)
        #expect(backlog.begin(1, on: other) == true)
        backlog.end(half, on: loop)
        #expect(backlog.begin(1, on: loop) == true)
        backlog.end(half, on: loop)
        backlog.end(1, on: loop)
        // One to more streams than that goes out alone.
        #expect(backlog.begin(10 * half, on: loop) == true)
        #expect(backlog.begin(1, on: loop) == false)
    }

    @Test func `who is back within the grace was never away`() {
        var list = PresenceList(grace: .seconds(5))
        let now = ContinuousClock.now
        #expect(list.arrive("alice", 1) == true)
        #expect(list.arrive("alice", 2) == false)
        list.leave("alice", 1, [lunch], at: now)
        list.leave("alice", 2, [lunch], at: now)
        #expect(list.takeDeparted(at: now + .seconds(4)).count == 0)
        #expect(list.arrive("alice", 3) == false)
        list.leave("alice", 3, [lunch], at: now)
        #expect(list.takeDeparted(at: now + .seconds(6)).map(\.name) == ["alice"])
        #expect(list.takeDeparted(at: now + .seconds(7)).count == 0)
        #expect(list.arrive("alice", 4) == true)
    }
}
