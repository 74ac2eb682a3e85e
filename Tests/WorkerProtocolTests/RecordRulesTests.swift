import AdapterKit
import AdapterProtocol
import AdapterTesting
import Foundation
import RecordStorage
import SQLiteStore
import Synchronization
import Testing
import WorkerHost
import WorkerTesting

/// A store with the lists and tasks of ``RuledModule``, whose rules are in this process or a worker's.
struct RuledStore: Sendable {
    let store: SQLiteStore
    let declaration: AdapterDeclaration
    let asked: AskedWorker?

    static func with(
        isWorker: Bool, configuration: AdapterConfiguration = AdapterConfiguration(),
        _ body: @Sendable (RuledStore) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "portico-rules-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let clock = SettableClock()
        let store = try SQLiteStore(SQLiteStoreSettings(path: folder.appending(path: "store").path, clock: clock))
        var declaration = try RuledModule.declare(configuration)
        var asked: AskedWorker?
        if isWorker {
            let pair = try await WorkerPair(RuledModule.self, configuration)
            declaration = try await pair.session.describe(configuration).declaration
            try await pair.session.start(
                AdapterContext(
                    records: AdapterRecords(store: store, declaration: declaration), accounts: MemoryAccounts([]),
                    log: .discarding, clock: clock))
            let worker = AskedWorker(pair.session)
            asked = worker
            declaration = declaration.askingRules { worker }
        }
        try await store.install(
            declaration.entities.map { CollectionDeclaration(adapter: declaration.name, entity: $0) })
        let ruled = RuledStore(store: store, declaration: declaration, asked: asked)
        _ = try await ruled.own.apply([RecordChange("lists", .create("home", [:]))])
        try await body(ruled)
        asked?.session.close()
        await store.close()
    }

    var own: AdapterRecords { AdapterRecords(store: store, declaration: declaration) }

    func seen(by name: String) -> AdapterRecords {
        AdapterRecords(store: store, declaration: declaration, principal: .user(name))
    }

    func task(_ title: String, isOpen: Bool = true, list: String = "home") -> RecordChange {
        RecordChange(
            "tasks", .create(nil, ["title": .string(title), "isOpen": .bool(isOpen), "list": .string(list)]))
    }

    func open(of name: String) async throws -> Int {
        try await own.count(
            .all([.compare("owner", .equal, .string(name)), .compare("isOpen", .equal, true)]), in: "tasks")
    }
}

/// A worker, and what happens between its answer and the transaction that uses it.
final class AskedWorker: RuleAnswering {
    let session: WorkerConnection
    private let afterAnswer = Mutex<(@Sendable (Int) async throws -> Void)?>(nil)
    private let count = Mutex(0)

    init(_ session: WorkerConnection) { self.session = session }

    /// Questions that were asked so far.
    var questions: Int { count.withLock { $0 } }

    func afterEachAnswer(_ body: (@Sendable (Int) async throws -> Void)?) { afterAnswer.withLock { $0 = body } }

    func handle(_ call: Call) async throws -> OperationResult { try await session.handle(call) }

    func answer(_ question: RuleQuestion) async throws -> WireValue {
        let number = count.withLock { count in
            count += 1
            return count
        }
        let result: Result<WireValue, any Error>
        do { result = .success(try await session.answer(question)) } catch { result = .failure(error) }
        if let body = afterAnswer.withLock({ $0 }) { try await body(number) }
        do { return try result.get() } catch let ended as WorkerEnded { throw ended.asError }
    }
}

/// Puts a list before each change, after a call.
private struct CrowdRules: RecordRules {
    let whenPrepared: @Sendable () -> Void

    func prepare(_ change: RecordChange, of record: Record?, in writing: RecordRuleContext) throws -> PreparedChange {
        whenPrepared()
        return PreparedChange(change, after: [RecordChange("lists", .create("before", [:]))])
    }

    func verify(_ record: Record, of entity: EntityName, in writing: RecordRuleContext) throws {}
}

private func refusal(_ body: () async throws -> Void) async -> PorticoError? {
    do {
        try await body()
        return nil
    } catch {
        return error as? PorticoError
    }
}

@Suite struct `Record rules in the process and in a worker` {
    /// More than a worker's requests have places: each change waits for an answer in whose course the worker reads.
    @Test func `answer changes of the worker's own calls, however many wait for them`() async throws {
        try await RuledStore.with(isWorker: true) { ruled in
            let worker = try #require(ruled.asked)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<100 {
                    group.addTask {
                        let caller = Principal.user("user\(number)")
                        let call = Call(
                            operation: "add", input: ["title": .string("T\(number)")], caller: caller,
                            requestID: "\(number)", deadline: .now + .seconds(120),
                            records: AdapterRecords(
                                store: ruled.store, declaration: ruled.declaration, principal: caller),
                            log: .discarding)
                        let result = try await worker.handle(call)
                        #expect(result.content == .value(.string("t\(number)")))
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await ruled.own.count(nil, in: "tasks") == 100)
        }
    }

    @Test(arguments: [false, true])
    func `change what is written, see it with all that it comes with, and refuse it`(isWorker: Bool) async throws {
        try await RuledStore.with(isWorker: isWorker) { ruled in
            let ann = ruled.seen(by: "ann")
            let first = try await ann.apply([ruled.task("One"), ruled.task("TWO", isOpen: false), ruled.task("Three")])
            #expect(first.records.map { $0?["title"] } == ["one", "two", "three"])
            let closed = try #require(first.records[1])
            #expect(closed["closed"] == closed["modified"])
            #expect(closed["place"].int64Value.map(Revision.init) == closed.revision)
            _ = try await ann.apply([ruled.task("four")])
            let tooMany = await refusal {
                _ = try await ann.apply([ruled.task("five"), ruled.task("six", isOpen: false)])
            }
            #expect(tooMany?.code == .recordConflict && tooMany?.target == "isOpen")
            #expect(tooMany?.message == "At most 3 tasks are open.")
            let lost = await refusal { _ = try await ann.apply([ruled.task("lost", isOpen: false, list: "none")]) }
            #expect(lost?.code == .requestInvalid && lost?.target == "list")
            // Both are in one transaction: the one makes room for the other.
            let id = try #require(first.records[0]).id
            _ = try await ann.apply([
                ruled.task("five"), RecordChange("tasks", .update(id, ["isOpen": false])),
                RecordChange("lists", .create("work", [:])), ruled.task("Sixth", isOpen: false, list: "work"),
            ])
            #expect(try await ruled.own.count(nil, in: "tasks") == 6)
            #expect(try await ruled.open(of: "ann") == 3)
            _ = try await ann.apply([RecordChange("lists", .delete("home"))])
            let left = try await ruled.own.query(Query(), in: "tasks").records
            #expect(left.map { $0["title"] } == ["sixth"])
        }
    }

    @Test(arguments: [false, true])
    func `complete many changes of one transaction, which build on each other`(isWorker: Bool) async throws {
        try await RuledStore.with(isWorker: isWorker) { ruled in
            func note(_ number: Int, _ text: String) -> RecordChange {
                RecordChange("notes", .create(RecordID(unchecked: "n\(number)"), ["text": .string(text)]))
            }
            let ann = ruled.seen(by: "ann")
            let apart = try await ann.apply((100..<140).map { note($0, "four") })
            #expect(apart.records.allSatisfy { $0?["length"] == 4 })
            let chain = try await ann.apply((0..<15).map { note($0, $0 == 0 ? "first" : "n\($0 - 1)") })
            let lengths = chain.records.map { $0?["length"] ?? .null }
            #expect(lengths == (0..<15).map { .int64(5 + (1..<15).prefix($0).reduce(0) { $0 + ($1 > 10 ? 3 : 2) }) })
        }
    }

    @Test(arguments: [false, true])
    func `put no more than so many changes first`(isWorker: Bool) async throws {
        try await RuledStore.with(isWorker: isWorker) { ruled in
            func crowd(_ count: Int) -> RecordChange {
                RecordChange("notes", .create("crowd", ["text": .string("\(count)")]))
            }
            let ann = ruled.seen(by: "ann")
            let error = await refusal { _ = try await ann.apply([crowd(PreparedChange.maximumFirst + 1)]) }
            #expect(error?.code == .requestLimitExceeded)
            #expect(error?.message == "The adapter's rules put more than 100 changes before one.")
            let none = try await ruled.own.count(nil, in: "lists")
            #expect(none == 1)
            _ = try await ann.apply([crowd(PreparedChange.maximumFirst)])
            let made = try await ruled.own.count(nil, in: "lists")
            #expect(made == 1 + PreparedChange.maximumFirst)
        }
    }

    @Test(arguments: [false, true])
    func `put as many changes first as they say, up to a limit in a worker`(isWorker: Bool) async throws {
        try await RuledStore.with(isWorker: isWorker, configuration: AdapterConfiguration(["first": 150])) { ruled in
            func crowd(_ count: Int) -> RecordChange {
                RecordChange("notes", .create("crowd", ["text": .string("\(count)")]))
            }
            let ann = ruled.seen(by: "ann")
            let error = await refusal { _ = try await ann.apply([crowd(151)]) }
            #expect(error?.message == "The adapter's rules put more than 150 changes before one.")
            _ = try await ann.apply([crowd(150)])
            let made = try await ruled.own.count(nil, in: "lists")
            #expect(made == 151)
        }
        for first in [-1, 1_001] where isWorker {
            let pair = try await WorkerPair(RuledModule.self, AdapterConfiguration())
            await #expect {
                try await pair.session.describe(AdapterConfiguration(["first": .int64(Int64(first))]))
            } throws: { error in
                (error as? WorkerRefusal)?.description.hasSuffix(
                    "its rules put \(first) changes before one, of which 0 to 1000 are taken") == true
            }
            pair.session.close()
        }
    }

    @Test(arguments: [false, true])
    func `verify all that they put first, with what they read of it`(isWorker: Bool) async throws {
        try await RuledStore.with(isWorker: isWorker) { ruled in
            let chores = PreparedChange.maximumFirst
            let note = RecordChange("notes", .create("chores", ["text": .string("\(chores)")]))
            _ = try await ruled.seen(by: "ann").apply([note])
            let made = try await ruled.own.count(nil, in: "tasks")
            #expect(made == chores)
        }
    }

    @Test func `end between two changes where their caller is cancelled, and nothing is made`() async throws {
        try await RuledStore.with(isWorker: false) { ruled in
            let writing = Mutex<Task<Void, any Error>?>(nil)
            let (prepared, isPrepared) = AsyncStream<Void>.makeStream()
            let rules = CrowdRules {
                while writing.withLock({ $0 }) == nil { Thread.sleep(forTimeInterval: 0.001) }
                writing.withLock { $0?.cancel() }
                isPrepared.finish()
            }
            let mine = AdapterRecords(
                store: ruled.store, declaration: ruled.declaration.holding(to: rules), principal: .user("ann"))
            let task = Task { _ = try await mine.apply([RecordChange("lists", .create("late", [:]))]) }
            writing.withLock { $0 = task }
            for await _ in prepared {}
            let result = await task.result
            #expect(throws: CancellationError.self) { try result.get() }
            let lists = try await ruled.own.count(nil, in: "lists")
            #expect(lists == 1)
        }
    }

    @Test func `follow no relation to what is not the adapter's`() async throws {
        try await RuledStore.with(isWorker: false) { ruled in
            let error = await refusal {
                _ = try await ruled.own.count(.related("list", "foreign", .always), in: "tasks")
            }
            #expect(error?.code == .requestInvalid)
        }
    }

    @Test(arguments: [false, true])
    func `hold whoever writes at the same time`(isWorker: Bool) async throws {
        try await RuledStore.with(isWorker: isWorker) { ruled in
            let outcomes = await withTaskGroup(of: ErrorCode?.self) { group in
                for number in 0..<24 {
                    group.addTask {
                        while true {
                            do {
                                _ = try await ruled.seen(by: ["ann", "bob"][number % 2]).apply([ruled.task("\(number)")]
                                )
                                return nil
                            } catch let error as PorticoError where error.code == .overloaded {
                                // As a client that comes back.
                                continue
                            } catch {
                                return (error as? PorticoError)?.code
                            }
                        }
                    }
                }
                return await group.reduce(into: [ErrorCode?]()) { $0.append($1) }
            }
            #expect(outcomes.filter { $0 == nil }.count == 2 * TaskRules.maximumOpen)
            #expect(outcomes.filter { $0 == .recordConflict }.count == 24 - 2 * TaskRules.maximumOpen)
            let open = [try await ruled.open(of: "ann"), try await ruled.open(of: "bob")]
            #expect(open == [TaskRules.maximumOpen, TaskRules.maximumOpen])
        }
    }
}

@Suite struct `Record rules of a worker` {
    @Test func `are not asked again where what moved is not what they read`() async throws {
        try await RuledStore.with(isWorker: true) { ruled in
            let worker = try #require(ruled.asked)
            let ann = ruled.seen(by: "ann")
            _ = try await ann.apply([ruled.task("alone")])
            let needed = worker.questions
            worker.afterEachAnswer { number in
                _ = try await ruled.own.apply([RecordChange("lists", .create(RecordID(unchecked: "l\(number)"), [:]))])
            }
            _ = try await ann.apply([ruled.task("among others")])
            #expect(worker.questions == 2 * needed)
        }
    }

    @Test func `are asked again where something moved that they read`() async throws {
        try await RuledStore.with(isWorker: true) { ruled in
            let worker = try #require(ruled.asked)
            let other = AdapterRecords(
                store: ruled.store, declaration: ruled.declaration.holding(to: nil), principal: .user("ann"))
            _ = try await other.apply([ruled.task("a"), ruled.task("b")])
            let isFirst = Mutex(true)
            worker.afterEachAnswer { _ in
                guard
                    isFirst.withLock({ first in
                        defer { first = false }
                        return first
                    })
                else { return }
                _ = try await other.apply([ruled.task("c")])
            }
            let error = await refusal { _ = try await ruled.seen(by: "ann").apply([ruled.task("d")]) }
            #expect(error?.code == .recordConflict)
            #expect(try await ruled.open(of: "ann") == 3)
        }
    }

    @Test func `refuse for the moment what they cannot settle because it changes all the time`() async throws {
        try await RuledStore.with(isWorker: true) { ruled in
            let worker = try #require(ruled.asked)
            worker.afterEachAnswer { _ in
                _ = try await ruled.own.apply([RecordChange("lists", .update("home", ["tasks": 1]))])
            }
            let error = await refusal { _ = try await ruled.seen(by: "ann").apply([ruled.task("never")]) }
            #expect(error?.code == .overloaded)
            #expect(error?.retryAfter == 1)
            #expect(worker.questions <= 2 * RuleAnswers.maximumAttempts)
            #expect(try await ruled.own.count(nil, in: "tasks") == 0)
        }
    }

    @Test func `refuse all changes with 503 where the worker ends, and none is half made`() async throws {
        try await RuledStore.with(isWorker: true) { ruled in
            let worker = try #require(ruled.asked)
            worker.afterEachAnswer { _ in worker.session.close() }
            for _ in 0..<2 {
                let error = await refusal { _ = try await ruled.seen(by: "ann").apply([ruled.task("never")]) }
                #expect(error?.code == .adapterUnavailable)
            }
            #expect(try await ruled.own.count(nil, in: "tasks") == 0)
            // What the adapter does on its own authority asks nobody.
            _ = try await ruled.own.apply([ruled.task("own")])
        }
    }

    @Test func `leave the writer to others while the worker hangs`() async throws {
        try await RuledStore.with(isWorker: true) { ruled in
            let worker = try #require(ruled.asked)
            let (hanging, hangs) = AsyncStream<Void>.makeStream()
            let (released, release) = AsyncStream<Void>.makeStream()
            worker.afterEachAnswer { number in
                guard number == 1 else { return }
                hangs.yield()
                for await _ in released { return }
            }
            async let held = ruled.seen(by: "ann").apply([ruled.task("Held")])
            for await _ in hanging { break }
            _ = try await ruled.own.apply([RecordChange("lists", .create("meanwhile", [:]))])
            release.yield()
            let title = try await held.records.first??["title"]
            #expect(title == "held")
        }
    }

    @Test func `read no more than so much for one change`() async throws {
        try await RuledStore.with(isWorker: true) { ruled in
            let large = String(repeating: "x", count: 1 << 20)
            _ = try await ruled.own.apply([
                RecordChange("notes", .create("large", ["text": .string(large), "length": 0]))
            ])
            let error = await refusal {
                _ = try await ruled.seen(by: "ann").apply([RecordChange("notes", .create("much", ["text": "small"]))])
            }
            #expect(error?.code == .requestLimitExceeded)
        }
    }

    @Test func `read no more often than so for one change`() async throws {
        try await RuledStore.with(isWorker: true) { ruled in
            let ann = ruled.seen(by: "ann")
            let error = await refusal {
                _ = try await ann.apply([RecordChange("notes", .create("often", ["text": "1001"]))])
            }
            #expect(error?.code == .requestLimitExceeded)
            _ = try await ann.apply([RecordChange("notes", .create("often", ["text": "500"]))])
        }
    }

    @Test func `hold up no write with a read that ends outside of the transaction alone`() async throws {
        try await RuledStore.with(isWorker: true) { ruled in
            let ann = ruled.seen(by: "ann")
            let error = await refusal { _ = try await ann.apply([ruled.task("endless")]) }
            #expect(error?.code == .requestLimitExceeded)
            // Nothing of it is made, not even beside a change that is in order.
            let both = await refusal { _ = try await ann.apply([ruled.task("one"), ruled.task("endless")]) }
            #expect(both?.code == .requestLimitExceeded)
            #expect(try await ruled.own.count(nil, in: "tasks") == 0)
            _ = try await ann.apply([ruled.task("two")])
            #expect(try await ruled.own.count(nil, in: "tasks") == 1)
        }
    }

    @Test func `judge what a call of the worker writes`() async throws {
        try await RuledStore.with(isWorker: true) { ruled in
            let worker = try #require(ruled.asked)
            func add(_ title: String) async throws -> OperationResult {
                try await worker.session.handle(
                    Call(
                        operation: "add", input: ["title": .string(title)], caller: .user("ann"), requestID: "r",
                        deadline: .now + .seconds(600), records: ruled.seen(by: "ann"), log: .discarding))
            }
            let added = try await add("Loud").content
            #expect(added == .value("loud"))
            _ = try await ruled.seen(by: "ann").apply([ruled.task("b"), ruled.task("c")])
            let error = await refusal { _ = try await add("d") }
            #expect(error?.code == .recordConflict)
        }
    }

    @Test func `make no other change than the one that they are asked about`() async throws {
        try await RuledStore.with(isWorker: true) { ruled in
            let error = await refusal { _ = try await ruled.seen(by: "ann").apply([ruled.task("another")]) }
            #expect(error?.code == .serverInternal)
            let home = try await ruled.own.record("home", in: "lists")
            #expect(home != nil)
        }
    }

    @Test func `read the snapshot of their question and do nothing else`() async throws {
        let (session, peer) = try await RawPeer.session()
        defer { session.close() }
        async let described = session.describe(AdapterConfiguration())
        _ = try await peer.received { $0["method"] == "declare" }
        let declaration = try RuledModule.declare(AdapterConfiguration())
        try peer.send([
            "response": 2, "result": ["declaration": declaration.message, "hasRules": true],
        ])
        let ruled = try await described.declaration.askingRules { session }
        let records = try MemoryRecords(RuledModule.declare(AdapterConfiguration()))
        async let started: Void = session.start(
            AdapterContext(
                records: records.unrestricted, accounts: MemoryAccounts([]), log: .discarding, clock: SettableClock()))
        _ = try await peer.received { $0["method"] == "start" }
        try peer.send(["response": 3, "result": .null])
        try await started
        let folder = FileManager.default.temporaryDirectory.appending(path: "portico-rules-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let store = try SQLiteStore(
            SQLiteStoreSettings(path: folder.appending(path: "store").path, clock: SettableClock()))
        try await store.install(ruled.entities.map { CollectionDeclaration(adapter: ruled.name, entity: $0) })
        let mine = AdapterRecords(store: store, declaration: ruled, principal: .user("ann"))
        async let written = mine.apply([RecordChange("lists", .create("home", [:]))])
        // What the change comes to is asked about at once with it, as if the rules left it as it is.
        let questions: [WireValue] = ["prepareRule", "verifyRule"]
        let question = try await peer.received { questions.contains($0["method"] ?? .null) }
        let other = try await peer.received { questions.contains($0["method"] ?? .null) }
        #expect(question["params"]?["snapshot"] == 0)
        let change = RecordChange("lists", .delete("home")).message
        for (number, method, parameters) in [
            (1, "apply", ["changes": [change]]), (2, "count", ["entity": "lists"]), (3, "openSnapshot", [:]),
            (4, "readSnapshot", ["snapshot": 1, "read": "count", "entity": "lists"]),
        ] as [(Int64, WireValue, WireValue)] {
            try peer.send([
                "request": .int64(number), "method": method, "for": question["request"] ?? 0, "params": parameters,
            ])
            let answer = try await peer.received { $0["response"] == .int64(number) }
            #expect(answer["error"]?["error"]?["code"] == "access.denied")
        }
        let refusal: WireValue = ["error": ["code": "record.conflict", "message": "no"]]
        try peer.send(["response": question["request"] ?? 0, "error": refusal])
        try peer.send(["response": other["request"] ?? 0, "error": refusal])
        let refused: ErrorCode?
        do {
            _ = try await written
            refused = nil
        } catch { refused = (error as? PorticoError)?.code }
        #expect(refused == .recordConflict)
        await store.close()
    }
}
