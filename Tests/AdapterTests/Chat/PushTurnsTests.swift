import AdapterKit
import Chat
import Testing

@Suite struct PushTurnsTests {
    private func turns(_ messages: [(author: String, position: Int64)]) -> PushTurns<Int64> {
        var turns = PushTurns<Int64>()
        for (author, position) in messages { _ = turns.append(position, of: author, at: Revision(position)) }
        turns.noteReached(Revision(messages.last?.position ?? 0))
        return turns
    }

    private func next(_ turns: inout PushTurns<Int64>) throws -> PushTurns<Int64>.Turn {
        let turn = turns.next()
        return try #require(turn)
    }

    private func senders(_ turns: inout PushTurns<Int64>) -> Int { turns.takeSenders() }

    private func end(_ turn: PushTurns<Int64>.Turn, _ turns: inout PushTurns<Int64>) -> Revision? { turns.end(turn) }

    @Test func `authors take turns, and the messages of one keep their order`() throws {
        var turns = turns([("a", 1), ("a", 2), ("a", 3), ("b", 4), ("c", 5)])
        #expect(senders(&turns) == 3)
        var order: [Int64] = []
        while let turn = turns.next() {
            order.append(turn.job)
            _ = turns.end(turn)
        }
        #expect(order == [1, 4, 5, 2, 3])
        #expect(senders(&turns) == 0)
    }

    @Test func `an author whose message is under way delays nobody else's`() throws {
        var turns = turns([("slow", 1), ("slow", 2), ("b", 3), ("b", 4)])
        let slow = try next(&turns)
        #expect(slow.job == 1)
        for expected: Int64 in [3, 4] {
            let turn = try next(&turns)
            #expect(turn.job == expected)
            _ = turns.end(turn)
        }
        let none = turns.next()?.job
        #expect(none == nil)
        _ = turns.end(slow)
        #expect(senders(&turns) == 1)
        let second = turns.next()?.job
        #expect(second == 2)
    }

    @Test func `the position that is kept has nothing before it that was not pushed`() throws {
        var turns = turns([("a", 3), ("b", 5), ("a", 7)])
        turns.noteReached(Revision(9))
        let first = try next(&turns)
        let second = try next(&turns)
        #expect(end(second, &turns) == Revision(2))
        #expect(end(first, &turns) == Revision(6))
        let third = try next(&turns)
        #expect(end(third, &turns) == Revision(9))
    }

    @Test func `of one author's messages the oldest are left out for more`() throws {
        let most = Int64(PushTurns<Int64>.waitingOfAuthor)
        var turns = turns((1...most).map { ("a", $0) } + [("b", most + 1)])
        let hers = turns.append(most + 2, of: "a", at: Revision(most + 2))
        let his = turns.append(most + 3, of: "b", at: Revision(most + 3))
        #expect(hers && !his)
        let jobs = [turns.next()?.job, turns.next()?.job]
        #expect(jobs == [2, most + 1])
    }

    @Test func `no more senders are started than may work at once`() {
        var turns = turns((1...200).map { ("author \($0)", $0) })
        #expect(senders(&turns) == PushTurns<Int64>.senders)
        #expect(senders(&turns) == 0)
        while let turn = turns.next() { _ = turns.end(turn) }
        _ = turns.append(201, of: "a", at: Revision(201))
        #expect(senders(&turns) == 1)
    }
}
