import AdapterKit
import Admission
import Foundation
import Synchronization
import Testing

@testable import Gateway

@Suite struct ProcessorSharesTests {
    private let alice = CallerIdentity.account("alice")
    private let bob = CallerIdentity.account("bob")

    @Test func `accounts take turns, and the jobs of one keep their order`() {
        var turns = AccountTurns<Int>(perAccount: 3)
        for job in 1...4 { turns.append(job, for: alice) }
        turns.append(11, for: bob)
        #expect((0..<2).map { _ in turns.next() } == [1, 11])
        turns.append(12, for: bob)
        #expect((0..<3).map { _ in turns.next() } == [2, 12, 3])
    }

    @Test func `an account runs no more at once than its share, and another at once`() {
        var turns = AccountTurns<Int>(perAccount: 2)
        for job in 1...4 { turns.append(job, for: alice) }
        #expect([turns.next(), turns.next(), turns.next()] == [1, 2, nil])
        #expect(!turns.hasNext)
        turns.append(11, for: bob)
        #expect(turns.hasNext && turns.next() == 11)
        turns.end(for: alice)
        #expect([turns.next(), turns.next()] == [3, nil])
        for _ in 0..<2 { turns.end(for: alice) }
        turns.end(for: bob)
        #expect(turns.next() == 4 && !turns.isEmpty)
        turns.end(for: alice)
        #expect(turns.isEmpty)
    }

    @Test(arguments: 0..<20) func `every job runs once, whatever comes and ends when`(seed: UInt64) {
        var random = SeededGenerator(state: seed)
        var (turns, running, ran, appended) = (AccountTurns<Int>(perAccount: 2), [CallerIdentity](), Set<Int>(), 0)
        let accounts = (0..<4).map { CallerIdentity.account("\($0)") }
        var owners: [CallerIdentity] = []
        while appended < 300 || !turns.isEmpty {
            switch Int.random(in: 0..<3, using: &random) {
            case 0 where appended < 300:
                owners.append(accounts[Int.random(in: 0..<4, using: &random)])
                turns.append(appended, for: owners[appended])
                appended += 1
            case 1:
                guard let job = turns.next() else { continue }
                #expect(ran.insert(job).inserted)
                running.append(owners[job])
            default:
                guard !running.isEmpty else { continue }
                turns.end(for: running.remove(at: Int.random(in: 0..<running.count, using: &random)))
            }
            for account in accounts { #expect(running.count { $0 == account } <= 2) }
        }
        #expect(ran.count == 300)
    }

    /// The threads that alice may have are all held, and hundreds of her tasks wait; bob's task runs all the same.
    @Test(.timeLimit(.minutes(5))) func `a task of another account runs while one account holds all that it can`() async
    {
        let shares = ProcessorShares(threads: 3)
        let held = HeldThreads()
        let (alices, bobs) = (shares.executor(for: alice), shares.executor(for: bob))
        let tasks = (0..<300).map { _ in Task(executorPreference: alices) { held.hold() } }
        while held.count < 2 { await Task.yield() }
        let name = await Task(executorPreference: bobs) { "bob" }.value
        #expect(name == "bob" && held.count == 2)
        held.release()
        for task in tasks { await task.value }
        #expect(held.count == 300)
    }

    /// Jobs of one task run one after the other, on whichever thread, and what waits in between holds none.
    @Test(.timeLimit(.minutes(5))) func `tasks that wait hold no thread`() async {
        let executor = ProcessorShares(threads: 2).executor(for: alice)
        await withTaskExecutorPreference(executor) {
            await withTaskGroup(of: Void.self) { group in
                let (stream, continuation) = AsyncStream<Void>.makeStream()
                group.addTask { for await _ in stream { return } }
                group.addTask { continuation.yield() }
            }
        }
    }
}

private final class HeldThreads: Sendable {
    private let begun = Mutex(0)
    private let isOpen = Mutex(false)

    /// Threads that were held since the beginning.
    var count: Int { begun.withLock { $0 } }

    func hold() {
        begun.withLock { $0 += 1 }
        while !isOpen.withLock({ $0 }) { Thread.sleep(forTimeInterval: 0.001) }
    }

    func release() { isOpen.withLock { $0 = true } }
}

private struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return state
    }
}
