import AdapterKit
import Synchronization
import Testing

@testable import Gateway

/// Tasks of adapters that come and go.
@Suite struct AdapterTasksTests {
    private final class Calls: Sendable {
        private let all = Mutex<[String]>([])
        let changes = AsyncStream<String>.makeStream()
        var value: [String] { all.withLock { $0 } }

        func add(_ call: String) {
            all.withLock { $0.append(call) }
            changes.continuation.yield(call)
        }

        func wait(for call: String) async {
            for await change in changes.stream where change == call { return }
        }

        /// Until it is cancelled.
        func run(_ name: String) async {
            add("\(name) begins")
            while !Task.isCancelled { try? await Task.sleep(for: .seconds(3_600)) }
            add("\(name) ends")
        }
    }

    private final class Owner: Sendable {}

    private let calls = Calls()
    private let tasks = AdapterTasks()
    private let one = Owner()
    private let other = Owner()

    @Test func `the end of a task has come when its end is reported`() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await tasks.run() }
            tasks.begin(one) { await calls.run("one") }
            await calls.wait(for: "one begins")
            await tasks.end(one)
            #expect(calls.value == ["one begins", "one ends"])
            tasks.begin(other) { await calls.run("other") }
            await calls.wait(for: "other begins")
            group.cancelAll()
        }
        #expect(calls.value == ["one begins", "one ends", "other begins", "other ends"])
    }

    @Test func `one that is ended before tasks run never begins`() async {
        tasks.begin(one) { await calls.run("one") }
        await tasks.end(one)
        await tasks.end(other)
        tasks.begin(other) { await calls.run("other") }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await tasks.run() }
            await calls.wait(for: "other begins")
            await tasks.end(other)
            group.cancelAll()
        }
        #expect(calls.value == ["other begins", "other ends"])
    }

    @Test func `another one may begin before the one before ends`() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await tasks.run() }
            tasks.begin(one) { await calls.run("one") }
            await calls.wait(for: "one begins")
            tasks.begin(other) { await calls.run("other") }
            await calls.wait(for: "other begins")
            await tasks.end(one)
            #expect(calls.value == ["one begins", "other begins", "one ends"])
            await tasks.end(other)
            #expect(calls.value == ["one begins", "other begins", "one ends", "other ends"])
            await tasks.end(other)
            group.cancelAll()
        }
    }

    @Test func `one that returns by itself needs no end, and its end ends no other`() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await tasks.run() }
            tasks.begin(one) { calls.add("done") }
            await calls.wait(for: "done")
            tasks.begin(other) { await calls.run("other") }
            await calls.wait(for: "other begins")
            await tasks.end(one)
            #expect(calls.value == ["done", "other begins"])
            await tasks.end(other)
            group.cancelAll()
        }
        #expect(calls.value == ["done", "other begins", "other ends"])
    }
}
