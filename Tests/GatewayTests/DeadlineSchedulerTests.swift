import AdapterKit
import Synchronization
import Testing

@testable import Gateway

private let late = PorticoError(.deadlineExceeded, "late")

@Suite struct DeadlineSchedulerTests {
    @Test func `work in time gives its result and leaves nothing behind`() async throws {
        let keeper = DeadlineScheduler()
        #expect(try await keeper.run(until: .now + .seconds(60), late: late) { 7 } == 7)
        await #expect(throws: CancellationError.self) {
            try await keeper.run(until: .now + .seconds(60), late: late) { throw CancellationError() }
        }
        #expect(keeper.count == 0)
    }

    @Test func `work that ignores its cancellation is answered all the same`() async {
        let keeper = DeadlineScheduler()
        let (gate, open) = AsyncStream<Void>.makeStream()
        let (started, start) = AsyncStream<Void>.makeStream()
        await withTaskGroup(of: ErrorCode?.self) { group in
            group.addTask {
                do {
                    try await keeper.run(until: .now, late: late) {
                        start.yield()
                        // A task of its own does not see the cancellation, as work that never looks does not.
                        await Task.detached { for await _ in gate {} }.value
                    }
                    return nil
                } catch {
                    return (error as? PorticoError)?.code
                }
            }
            for await _ in started { break }
            keeper.expire(at: .now + .seconds(1))
            let code = await group.next() ?? nil
            #expect(code == .deadlineExceeded)
        }
        #expect(keeper.count == 0)
        open.finish()
    }

    @Test func `a deadline ahead is not expired`() async throws {
        let keeper = DeadlineScheduler()
        let result = try await keeper.run(until: .now + .seconds(600), late: late) {
            keeper.expire(at: .now)
            return 1
        }
        #expect(result == 1)
    }
}
