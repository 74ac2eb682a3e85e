import Testing

@testable import Upstream

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
