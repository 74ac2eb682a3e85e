import SQLiteStore
import Testing

@Suite struct CommitQueueTests {
    private var queue = CommitQueue<Int>(limits: CommitQueueLimits(transactions: 3, steps: 10, stepsPerCommit: 4))

    @Test mutating func `the first to come begins, the others are queued`() {
        #expect(queue.admit(1, steps: 1) == .begin)
        #expect(queue.admit(2, steps: 1) == .queued)
        #expect(queue.next() == [1, 2])
        #expect(queue.admit(3, steps: 1) == .queued)
        #expect(queue.next() == [3])
        #expect(queue.next() == [])
        #expect(queue.admit(4, steps: 1) == .begin)
    }

    @Test mutating func `one commit takes no more changes than its limit, but always one transaction`() {
        for job in 1...3 { _ = queue.admit(job, steps: 2) }
        #expect(queue.next() == [1, 2])
        #expect(queue.next() == [3])
        _ = queue.admit(4, steps: 9)
        #expect(queue.next() == [4])
    }

    @Test mutating func `a transaction that finds the queue full is refused`() {
        for job in 1...3 { _ = queue.admit(job, steps: 1) }
        #expect(queue.admit(4, steps: 1) == .full)
        _ = queue.next()
        #expect(queue.admit(4, steps: 1) == .queued)
        #expect(queue.admit(5, steps: 10) == .full)
    }

    @Test mutating func `a transaction beyond every limit is taken where nothing waits`() {
        #expect(queue.admit(1, steps: 1000) == .begin)
        #expect(queue.next() == [1])
    }

    @Test mutating func `a closed queue takes nothing, and gives what it has`() {
        _ = queue.admit(1, steps: 1)
        queue.close()
        #expect(queue.admit(2, steps: 1) == .closed)
        #expect(queue.next() == [1])
    }
}
