import AdapterKit
import SQLiteStore
import Testing

@Suite struct CommitQueueTests {
    private var queue = CommitQueue<Int>(limits: CommitQueueLimits(transactions: 6, steps: 20, stepsPerCommit: 4))
    private let alice = CallerIdentity.account("alice")
    private let bob = CallerIdentity.account("bob")

    @Test mutating func `the first to come begins, the others are queued`() {
        #expect(queue.admit(1, steps: 1, for: alice) == .begin)
        #expect(queue.admit(2, steps: 1, for: alice) == .queued)
        #expect(queue.next() == [1, 2])
        #expect(queue.admit(3, steps: 1, for: alice) == .queued)
        #expect(queue.next() == [3])
        #expect(queue.next() == [])
        #expect(queue.admit(4, steps: 1, for: alice) == .begin)
    }

    @Test mutating func `one commit takes no more changes than its limit, but always one transaction`() {
        for job in 1...3 { _ = queue.admit(job, steps: 2, for: alice) }
        #expect(queue.next() == [1, 2])
        #expect(queue.next() == [3])
        _ = queue.admit(4, steps: 9, for: alice)
        #expect(queue.next() == [4])
    }

    @Test mutating func `a transaction that finds the queue full is refused`() {
        for job in 1...3 { _ = queue.admit(job, steps: 1, for: alice) }
        #expect(queue.admit(4, steps: 1, for: alice) == .full)
        _ = queue.next()
        #expect(queue.admit(4, steps: 1, for: alice) == .queued)
        #expect(queue.admit(5, steps: 10, for: alice) == .full)
        #expect(queue.admit(6, steps: 30, for: bob) == .full)
    }

    @Test mutating func `callers take turns, and the transactions of one keep their order`() {
        for job in 1...3 { _ = queue.admit(job, steps: 1, for: alice) }
        for job in 11...12 { _ = queue.admit(job, steps: 1, for: bob) }
        #expect(queue.next() == [1, 11, 2, 12])
        #expect(queue.admit(13, steps: 1, for: bob) == .queued)
        #expect(queue.next() == [3, 13])
        #expect(queue.count == 0)
    }

    @Test mutating func `one caller takes half of the queue, and another the rest`() {
        for job in 1...3 { _ = queue.admit(job, steps: 1, for: alice) }
        #expect(queue.admit(4, steps: 1, for: alice) == .full)
        for job in 11...13 { #expect(queue.admit(job, steps: 1, for: bob) == .queued) }
        #expect(queue.admit(21, steps: 1, for: .system) == .full)
        var large = CommitQueue<Int>(limits: CommitQueueLimits(transactions: 6, steps: 20, stepsPerCommit: 4))
        #expect(large.admit(1, steps: 9, for: alice) == .begin)
        #expect(large.admit(2, steps: 9, for: alice) == .full)
        #expect(large.admit(3, steps: 9, for: bob) == .queued)
    }

    @Test mutating func `a transaction beyond every limit is taken where nothing waits`() {
        #expect(queue.admit(1, steps: 1000, for: alice) == .begin)
        #expect(queue.next() == [1])
    }

    @Test mutating func `a closed queue takes nothing, and gives what it has`() {
        _ = queue.admit(1, steps: 1, for: alice)
        queue.close()
        #expect(queue.admit(2, steps: 1, for: alice) == .closed)
        #expect(queue.next() == [1])
    }
}
