import Testing

@testable import Upstream

@Suite struct CallQueueTests {
    @Test func `calls are admitted up to the limit, wait in their order, and are refused beyond the queue`() {
        var queue = CallQueue(limit: 2, places: 2)
        #expect((1...5).map { queue.enter($0) } == [.admitted, .admitted, .waits, .waits, .shed])
        #expect(queue.leave() == 3)
        #expect(queue.leave() == 4)
        #expect(queue.active == 2)
        #expect(queue.leave() == nil)
        #expect(queue.leave() == nil)
        #expect(queue.active == 0)
        #expect(queue.enter(6) == .admitted)
    }

    @Test func `who waits no longer leaves its place to the next`() {
        var queue = CallQueue(limit: 1, places: 2)
        #expect((1...3).map { queue.enter($0) } == [.admitted, .waits, .waits])
        let gone = queue.abandon(2)
        #expect(gone)
        let again = queue.abandon(2)
        #expect(!again)
        #expect(queue.enter(4) == .waits)
        #expect(queue.leave() == 3)
        let admitted = queue.abandon(3)
        #expect(!admitted)
    }

    /// Every sequence of ten steps over three calls: never more under way than the limit, and nobody waits beside a
    /// free place.
    @Test func `no sequence of steps breaks the limit or forgets a call`() {
        var sequences = 0
        func walk(_ queue: CallQueue, _ running: Set<UInt64>, _ waiting: [UInt64], _ next: UInt64, _ depth: Int) {
            #expect(queue.active == running.count && queue.active <= 2)
            #expect(queue.waiting == waiting && (waiting.isEmpty || queue.active == 2))
            guard depth > 0 else {
                sequences += 1
                return
            }
            var entered = queue
            switch entered.enter(next) {
            case .admitted: walk(entered, running.union([next]), waiting, next + 1, depth - 1)
            case .waits: walk(entered, running, waiting + [next], next + 1, depth - 1)
            case .shed: walk(entered, running, waiting, next + 1, depth - 1)
            }
            if let one = running.min() {
                var left = queue
                let begun = left.leave()
                #expect(begun == waiting.first)
                walk(
                    left, running.subtracting([one]).union(begun.map { [$0] } ?? []), Array(waiting.dropFirst()), next,
                    depth - 1)
            }
            if let last = waiting.last {
                var abandoned = queue
                let wasThere = abandoned.abandon(last)
                #expect(wasThere)
                walk(abandoned, running, waiting.dropLast(), next, depth - 1)
            }
        }
        walk(CallQueue(limit: 2, places: 2), [], [], 1, 10)
        #expect(sequences > 500)
    }
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
