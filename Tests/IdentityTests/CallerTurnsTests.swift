import AdapterKit
import Testing

@testable import Identity

@Suite struct CallerTurnsTests {
    private let alice = CallerIdentity.account("alice")
    private let bob = CallerIdentity.account("bob")

    @Test func `callers take turns, and the tasks of one keep their order`() {
        var turns = CallerTurns<Int>(limit: 10)
        for task in 1...3 { turns.append(task, for: alice) }
        for task in 11...12 { turns.append(task, for: bob) }
        #expect((0..<6).map { _ in turns.popFirst() } == [1, 11, 2, 12, 3, nil])
        #expect(turns.count == 0)
    }

    @Test func `one caller takes half of the places, and another the rest`() {
        var turns = CallerTurns<Int>(limit: 4)
        for task in 1...2 { turns.append(task, for: alice) }
        #expect(!turns.hasRoom(for: alice) && turns.hasRoom(for: bob))
        for task in 11...12 { turns.append(task, for: bob) }
        #expect(!turns.hasRoom(for: .system))
        _ = turns.popFirst()
        #expect(turns.hasRoom(for: .system) && turns.hasRoom(for: alice))
    }
}
