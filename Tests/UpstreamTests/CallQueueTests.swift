import AdapterKit
import Testing

@testable import Upstream

@Suite struct CallQueueTests {
    private let alice = CallerIdentity.account("alice")
    private let bob = CallerIdentity.account("bob")

    @Test func `calls are admitted up to the limit, wait in their order, and are refused beyond the queue`() {
        var queue = CallQueue(limit: 3, places: 4)
        #expect((1...5).map { queue.enter($0, for: alice) } == [.admitted, .admitted, .waits, .waits, .shed])
        #expect(queue.leave(alice) == 3)
        #expect(queue.leave(alice) == 4)
        #expect(queue.active == 2)
        #expect(queue.leave(alice) == nil)
        #expect(queue.leave(alice) == nil)
        #expect(queue.active == 0)
        #expect(queue.enter(6, for: alice) == .admitted)
    }

    @Test func `one account's calls leave a turn to another, and places`() {
        var queue = CallQueue(limit: 16, places: 64)
        let taken = (1...100).map { queue.enter($0, for: alice) }
        #expect(taken.count { $0 == .admitted } == 15)
        #expect(taken.count { $0 == .waits } == 32)
        #expect(queue.enter(101, for: bob) == .admitted)
        for call in UInt64(102)...112 { #expect(queue.enter(call, for: bob) == .waits) }
        // In turns, whoever came first.
        #expect((0..<4).map { _ in queue.leave(alice) } == [102, 16, 103, 17])
    }

    @Test func `of many accounts that take all they can each has as much, and a newcomer finds a place`() {
        var queue = CallQueue(limit: 4, places: 20)
        var ticket: UInt64 = 0
        for _ in 0..<30 {
            for name in ["a", "b", "c"] {
                ticket += 1
                _ = queue.enter(ticket, for: .account(name))
            }
        }
        #expect(queue.waiting == 15)
        #expect(queue.enter(1_000, for: bob) == .waits)
    }

    @Test func `where there is one turn it is for all in turn`() {
        var queue = CallQueue(limit: 1, places: 2)
        #expect(queue.enter(1, for: alice) == .admitted)
        #expect([queue.enter(2, for: alice), queue.enter(3, for: alice)] == [.waits, .shed])
        #expect(queue.enter(4, for: bob) == .waits)
        #expect(queue.leave(alice) == 4)
        #expect(queue.leave(bob) == 2)
    }

    @Test func `who waits no longer leaves its place to the next`() {
        var queue = CallQueue(limit: 1, places: 4)
        #expect((1...3).map { queue.enter($0, for: alice) } == [.admitted, .waits, .waits])
        let gone = queue.abandon(2)
        #expect(gone)
        let again = queue.abandon(2)
        #expect(!again)
        #expect(queue.enter(4, for: alice) == .waits)
        #expect(queue.leave(alice) == 3)
        let admitted = queue.abandon(3)
        #expect(!admitted)
        let last = queue.abandon(4)
        #expect(last)
        #expect(queue.leave(alice) == nil && queue.active == 0 && queue.waiting == 0)
    }

    /// Every sequence of seven steps over calls of two accounts.
    @Test func `no sequence of steps breaks the limit, takes the last turn or forgets a call`() {
        var sequences = 0
        func walk(_ queue: CallQueue, _ running: [UInt64], _ waiting: [UInt64], _ next: UInt64, _ depth: Int) {
            #expect(queue.active == running.count && queue.active <= 3 && queue.waiting == waiting.count)
            for name in [account(0), account(1)] {
                let own = running.count { account(of: $0) == name }
                #expect(own <= 2)
                // Whoever may begin has begun.
                #expect(queue.active == 3 || own == 2 || !waiting.contains { account(of: $0) == name })
            }
            guard depth > 0 else {
                sequences += 1
                return
            }
            for call in [next * 2, next * 2 + 1] {
                var entered = queue
                switch entered.enter(call, for: account(of: call)) {
                case .admitted: walk(entered, running + [call], waiting, next + 1, depth - 1)
                case .waits: walk(entered, running, waiting + [call], next + 1, depth - 1)
                case .shed: walk(entered, running, waiting, next + 1, depth - 1)
                }
            }
            if let one = running.first {
                var left = queue
                let begun = left.leave(account(of: one))
                #expect(begun.map { waiting.contains($0) } ?? true)
                walk(
                    left, Array(running.dropFirst()) + (begun.map { [$0] } ?? []), waiting.filter { $0 != begun }, next,
                    depth - 1)
            }
            if let last = waiting.last {
                var abandoned = queue
                let wasThere = abandoned.abandon(last)
                #expect(wasThere)
                walk(abandoned, running, waiting.dropLast(), next, depth - 1)
            }
        }
        walk(CallQueue(limit: 3, places: 3), [], [], 1, 7)
        #expect(sequences > 1_000)
    }

    private func account(_ number: UInt64) -> CallerIdentity { .account("\(number)") }
    private func account(of call: UInt64) -> CallerIdentity { account(call % 2) }
}

@Suite struct RetryBudgetTests {
    @Test func `a burst is possible, and then a share of all calls`() {
        var budget = RetryBudget(percent: 20)
        var retries = 0
        for _ in 0..<1_000 {
            budget.noteCall()
            if budget.takeRetry() { retries += 1 }
        }
        #expect((200...211).contains(retries))
    }

    @Test func `without a share the burst is all there is`() {
        var budget = RetryBudget(percent: 0)
        let taken = (0..<20).map { _ in
            budget.noteCall()
            return budget.takeRetry()
        }
        #expect(taken.filter { $0 }.count == 10)
        #expect(taken.prefix(10).allSatisfy { $0 })
    }
}
