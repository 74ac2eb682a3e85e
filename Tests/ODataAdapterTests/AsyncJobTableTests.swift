import AdapterKit
import AdapterTesting
import Testing

@testable import ODataAdapter

/// What is kept of requests whose answers come later: whose, how many, and how large.
@Suite struct AsyncJobTableTests {
    private typealias Table = AsyncJobTable<Int>

    private let alice = Table.Owner(.user("alice"), at: "s")
    private let bob = Table.Owner(.user("bob"), at: "s")

    /// A table behind a reference: expectations take no mutating calls.
    private final class Jobs {
        private var table: Table

        init(_ change: (inout AsyncLimits) -> Void = { _ in }) {
            var limits = AsyncLimits()
            change(&limits)
            table = Table(limits: limits)
        }

        func begin(_ id: String, for owner: Table.Owner, by caller: CallerIdentity) throws {
            try table.begin(id, for: owner, by: caller)
        }
        func reserve(_ bytes: Int, for id: String) throws { try table.reserve(bytes, for: id) }
        func finish(_ id: String, with answer: Int) -> Bool { table.finish(id, with: answer) }
        func progress(of id: String, for owner: Table.Owner) -> Table.Progress? { table.progress(of: id, for: owner) }
        func remove(_ id: String, for owner: Table.Owner) -> Bool { table.remove(id, for: owner) }
        func removeAnswers(of service: String) { table.removeAnswers(of: service) }
    }

    private func answer(_ progress: Table.Progress?) -> Int? {
        if case .done(let answer)? = progress { answer } else { nil }
    }

    @Test func `an answer is its owner's alone, at its service alone`() throws {
        let table = Jobs()
        try table.begin("a", for: alice, by: .account("alice"))
        guard case .running? = table.progress(of: "a", for: alice) else {
            Issue.record("it is not under way")
            return
        }
        #expect(table.finish("a", with: 7))
        #expect(answer(table.progress(of: "a", for: alice)) == 7)
        #expect(table.progress(of: "a", for: bob) == nil)
        #expect(table.progress(of: "a", for: Table.Owner(.user("alice"), at: "other")) == nil)
        #expect(!table.remove("a", for: bob) && table.remove("a", for: alice) && !table.remove("a", for: alice))
    }

    @Test func `what was cancelled keeps no answer`() throws {
        let table = Jobs()
        try table.begin("a", for: alice, by: .account("alice"))
        #expect(table.remove("a", for: alice))
        #expect(!table.finish("a", with: 7) && table.progress(of: "a", for: alice) == nil)
        #expect(throws: CancellationError.self) { try table.reserve(1, for: "a") }
    }

    @Test func `so many are under way at once, of a caller and of all`() throws {
        let table = Jobs { ($0.running, $0.runningPerCaller) = (3, 2) }
        for id in ["a", "b"] { try table.begin(id, for: alice, by: .account("alice")) }
        #expect(throws: PorticoError.self) { try table.begin("c", for: alice, by: .account("alice")) }
        try table.begin("c", for: bob, by: .account("bob"))
        #expect(throws: PorticoError.self) { try table.begin("d", for: bob, by: .account("bob")) }
        #expect(table.finish("a", with: 1))
        try table.begin("d", for: alice, by: .account("alice"))
    }

    @Test func `the oldest answer of who has most gives way`() throws {
        let table = Jobs { ($0.kept, $0.keptPerCaller) = (3, 2) }
        for id in ["a", "b", "c"] {
            try table.begin(id, for: alice, by: .account("alice"))
            #expect(table.finish(id, with: 1))
        }
        #expect(table.progress(of: "a", for: alice) == nil && table.progress(of: "b", for: alice) != nil)
        for id in ["x", "y"] {
            try table.begin(id, for: bob, by: .account("bob"))
            #expect(table.finish(id, with: 1))
        }
        let kept = ["b", "c"].count { table.progress(of: $0, for: alice) != nil }
        #expect(kept + ["x", "y"].count { table.progress(of: $0, for: bob) != nil } == 3)
    }

    @Test func `bytes have limits for one answer, for a caller, and for all`() throws {
        let table = Jobs { ($0.answerBytes, $0.callerBytes, $0.bytes) = (10, 12, 20) }
        try table.begin("a", for: alice, by: .account("alice"))
        try table.reserve(10, for: "a")
        #expect(throws: PorticoError.self) { try table.reserve(1, for: "a") }
        // One that is under way gives no room, one that is done does.
        try table.begin("b", for: alice, by: .account("alice"))
        #expect(throws: PorticoError.self) { try table.reserve(3, for: "b") }
        #expect(table.finish("a", with: 1))
        try table.reserve(3, for: "b")
        #expect(table.progress(of: "a", for: alice) == nil)
        try table.reserve(7, for: "b")
        try table.begin("c", for: bob, by: .account("bob"))
        try table.reserve(10, for: "c")
        // A caller with less than the others takes nothing from them.
        try table.begin("d", for: Table.Owner(.user("carol"), at: "s"), by: .account("carol"))
        #expect(throws: PorticoError.self) { try table.reserve(1, for: "d") }
        #expect(table.finish("c", with: 1))
        try table.reserve(1, for: "d")
        #expect(table.progress(of: "c", for: bob) == nil)
    }

    @Test func `the answers of a service are forgotten, its requests under way are not`() throws {
        let table = Jobs()
        let elsewhere = Table.Owner(.user("alice"), at: "other")
        for (id, owner) in [("a", alice), ("b", bob), ("c", elsewhere)] {
            try table.begin(id, for: owner, by: .account(id))
        }
        #expect(table.finish("a", with: 1) && table.finish("c", with: 3))
        table.removeAnswers(of: "s")
        #expect(table.progress(of: "a", for: alice) == nil && table.progress(of: "b", for: bob) != nil)
        #expect(answer(table.progress(of: "c", for: elsewhere)) == 3)
    }
}
