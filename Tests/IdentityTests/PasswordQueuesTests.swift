import AdapterKit
import Foundation
import Identity
import Testing

@Suite struct PasswordQueuesTests {
    @Test(.timeLimit(.minutes(5))) func `work of normal priority does not wait for what has low priority`()
        async throws
    {
        let queues = PasswordQueues(FairQueue.Limits(slots: 1, waiting: 100, longestWait: .seconds(3_600)))
        let isReleased = DispatchSemaphore(value: 0)
        let flood = (0..<50).map { number in
            Task {
                let share = PasswordShare(address: ClientAddress("198.51.100.1"), name: "u\(number)", priority: .low)
                try await queues.run(for: share) { isReleased.wait() }
            }
        }
        // All of them hold or wait for the only thread of their priority until this is done.
        for number in 0..<3 {
            let share = PasswordShare(address: ClientAddress("192.0.2.\(number)"), name: "alice")
            #expect(try await queues.run(for: share) { number } == number)
        }
        for _ in flood { isReleased.signal() }
        for task in flood { try await task.value }
    }
}
