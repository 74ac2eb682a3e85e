import AdapterKit
import AdapterProtocol
import AdapterTesting
import Synchronization
import Testing
import WorkerHost
import WorkerTesting

/// Counts that do not end before they are let go.
private final class HeldRecords: RecordStore {
    private struct State {
        var counting: [CheckedContinuation<Void, Never>] = []
        var isOpen = false
        var identities: Set<CallerIdentity> = []
        var cancelled = 0
    }

    private let state = Mutex(State())

    var counting: Int { state.withLock { $0.counting.count } }
    var identities: Set<CallerIdentity> { state.withLock { $0.identities } }

    func letGo() {
        let waiting = state.withLock { state in
            state.isOpen = true
            defer { state.counting = [] }
            return state.counting
        }
        for one in waiting { one.resume() }
    }

    func count(_ filter: Filter?, in entity: EntityName) async throws -> Int {
        state.withLock { _ = $0.identities.insert(CallerIdentity.current) }
        if entity == "endless" {
            try await Task.sleep(for: .seconds(600))
            return 0
        }
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state in
                if !state.isOpen { state.counting.append(continuation) }
                return state.isOpen
            }
            if isOpen { continuation.resume() }
        }
        return 1
    }

    func record(_ id: RecordID, in entity: EntityName) async throws -> Record? { nil }
    func query(_ query: Query, in entity: EntityName) async throws -> RecordPage { RecordPage(records: [], next: nil) }
    func apply(_ changes: [RecordChange]) async throws -> WriteReceipt {
        WriteReceipt(position: Revision(Int64(changes.count)), records: [])
    }
}

private final class CountedSignals: LiveSignals {
    private let count = Mutex(0)

    var sent: Int { count.withLock { $0 } }

    func signal(
        _ event: EventName, _ data: WireDictionary, in group: RecordID, of feed: LiveFeedName, from sender: String
    ) {
        count.withLock { $0 += 1 }
    }

    func listeners(in group: RecordID, of feed: LiveFeedName, limit: Int) -> [String] { [] }
}

/// What one worker may have under way at the host, so that it takes neither the host's memory nor the others' share.
@Suite(.timeLimit(.minutes(5))) struct `The requests of a worker` {
    private let records = HeldRecords()
    private let signals = CountedSignals()

    private func started(
        _ limits: SessionLimits = SessionLimits(), upstream: (any Upstream)? = nil
    ) async throws -> (WorkerConnection, RawPeer) {
        let (session, peer) = try await RawPeer.session(limits: limits)
        async let start: Void = session.start(
            AdapterContext(
                records: records, accounts: MemoryAccounts([]), log: .discarding, clock: SettableClock(),
                live: signals, upstream: upstream))
        _ = try await peer.received { $0["method"] == "start" }
        try peer.send(["response": 2, "result": .null])
        try await start
        return (session, peer)
    }

    private func request(_ number: Int, _ method: String, _ parameters: WireValue, in scope: Int? = nil) -> WireValue {
        var request: WireDictionary = ["request": .int64(Int64(number)), "method": .string(method)]
        if let scope { request["for"] = .int64(Int64(scope)) }
        request["params"] = parameters
        return .dictionary(request)
    }

    /// The codes of the errors that come before the response to this request.
    private func errors(_ peer: RawPeer, before number: Int) async throws -> [String] {
        let codes = Mutex<[String]>([])
        _ = try await peer.received { message in
            if let code = message["error"]?["error"]?["code"]?.stringValue { codes.withLock { $0.append(code) } }
            return message["response"] == .int64(Int64(number))
        }
        return codes.withLock { $0 }
    }

    @Test func `are refused where their parameters take too much memory, and taken again after their answers`()
        async throws
    {
        let (session, peer) = try await started()
        defer { session.close() }
        // A million of nulls is a megabyte that takes fifty.
        let nulls = WireValue.array(Array(repeating: .null, count: 1 << 20))
        for number in 1...5 { try peer.send(request(number, "count", ["entity": "things", "unknown": nulls])) }
        // The reader answers both, in the order in which they came.
        try peer.send(request(6, "ping", [:]))
        let refusals = try await errors(peer, before: 6)
        #expect(refusals == ["server.overloaded", "server.overloaded", "server.overloaded"])
        records.letGo()
        for number in 1...2 { _ = try await peer.received { $0["response"] == .int64(Int64(number)) } }
        try peer.send(request(7, "count", ["entity": "things", "unknown": nulls]))
        #expect(try await peer.received { $0["response"] == 7 }["result"] == 1)
    }

    @Test func `are served some at a time, for the worker itself by its own share, and pass in a question's course`()
        async throws
    {
        let (session, peer) = try await started()
        defer { session.close() }
        for number in 1...200 { try peer.send(request(number, "count", ["entity": "things"])) }
        while records.counting < SessionLimits().requests { try await Task.sleep(for: .milliseconds(1)) }
        try await Task.sleep(for: .milliseconds(50))
        #expect(records.counting == SessionLimits().requests)
        #expect(records.identities == [.adapter("raw")])
        // What a change has the host ask for is answered, although the permits are taken.
        let conflict = RecordConflict(
            entity: "things", change: .delete, current: Record(id: "a", revision: Revision(1), fields: [:]),
            changedSince: nil, caller: .testUser)
        async let resolution = session.resolve(conflict)
        let asked = try await peer.received { $0["method"] == "resolve" }
        let scope = Int(asked["request"]?.int64Value ?? 0)
        try peer.send(request(201, "record", ["entity": "things", "id": "a"], in: scope))
        #expect(try await peer.received { $0["response"] == 201 }["result"] == .null)
        try peer.send(["response": .int64(Int64(scope)), "result": "keep"])
        #expect(try await resolution == .keep)
        records.letGo()
        _ = try await peer.received { $0["response"] == 200 }
    }

    @Test func `that no caller waits for have a deadline`() async throws {
        var limits = SessionLimits()
        limits.requestTime = .milliseconds(10)
        let (session, peer) = try await started(limits)
        defer { session.close() }
        try peer.send(request(1, "count", ["entity": "endless"]))
        let late = try await peer.received { $0["response"] == 1 }
        #expect(late["error"]?["error"]?["code"] == "server.deadlineExceeded")
        // One that waits for its turn, too.
        for number in 2...33 { try peer.send(request(number, "count", ["entity": "things"])) }
        while records.counting < limits.requests { try await Task.sleep(for: .milliseconds(1)) }
        try peer.send(request(34, "count", ["entity": "things"]))
        let waited = try await peer.received { $0["response"] == 34 }
        #expect(waited["error"]?["error"]?["code"] == "server.deadlineExceeded")
        records.letGo()
    }

    @Test func `make a bounded number of changes at once`() async throws {
        let (session, peer) = try await started()
        defer { session.close() }
        func changes(_ count: Int) -> WireValue {
            ["changes": .array(Array(repeating: ["entity": "things", "action": ["delete": "a"]], count: count))]
        }
        try peer.send(request(1, "apply", changes(SessionLimits().changes + 1)))
        let refused = try await peer.received { $0["response"] == 1 }
        #expect(refused["error"]?["error"]?["code"] == "request.limitExceeded")
        try peer.send(request(2, "apply", changes(SessionLimits().changes)))
        #expect(try await peer.received { $0["response"] == 2 }["result"]?["position"] == 10_000)
    }

    @Test func `wait for new records a few at a time`() async throws {
        let (session, peer) = try await started()
        defer { session.close() }
        let most = SessionLimits().polls
        for number in 1...most { try peer.send(request(number, "created", ["entity": "things", "after": 9])) }
        try await Task.sleep(for: .milliseconds(100))
        try peer.send(request(most + 1, "created", ["entity": "things", "after": 9]))
        let refused = try await peer.received { $0["response"] == .int64(Int64(most + 1)) }
        #expect(refused["error"]?["error"]?["code"] == "server.overloaded")
        // Another has a permit when one is not wanted any more.
        try peer.send(["cancel": 1])
        _ = try await peer.received { $0["response"] == 1 }
        try peer.send(request(most + 2, "created", ["entity": "things", "after": 9]))
        try peer.send(request(most + 3, "changePosition", [:]))
        #expect(try await errors(peer, before: most + 3) == [])
    }

    @Test func `hold a bounded number of bytes of bodies together`() async throws {
        var limits = SessionLimits()
        limits.heldBodies = 100_000
        let url = try #require(UpstreamAddress("http://localhost/"))
        let upstream = ScriptedUpstream(url: url) {
            (request, _) async throws(UpstreamFailure) -> UpstreamResponse in
            UpstreamResponse(address: request.address, status: 200, fields: [:], body: [1])
        }
        let (session, peer) = try await started(limits, upstream: upstream)
        defer { session.close() }
        func call(_ number: Int) throws {
            try peer.send(
                request(
                    number, "upstream",
                    [
                        "upstream": "upstream", "method": "POST", "address": "http://localhost/", "whole": true,
                        "body": ["stream": .int64(Int64(number))],
                    ]))
        }
        let piece = WireValue.data(Array(repeating: 7, count: 32_768))
        // A body that does not end.
        try call(1)
        for _ in 0..<4 { try peer.send(["stream": 1, "data": piece]) }
        _ = try await peer.received { $0["credit"] == 1 }
        try call(2)
        try peer.send(["stream": 2, "data": piece])
        let refused = try await peer.received { $0["response"] == 2 }
        #expect(refused["error"]?["error"]?["code"] == "server.overloaded")
        try peer.send(["stream": 2, "end": true])
        try peer.send(["stream": 1, "end": true])
        #expect(try await peer.received { $0["response"] == 1 }["result"]?["status"] == 200)
        // What was sent is not held any more.
        try call(3)
        try peer.send(["stream": 3, "data": piece])
        try peer.send(["stream": 3, "end": true])
        #expect(try await peer.received { $0["response"] == 3 }["result"]?["status"] == 200)
    }

    @Test func `have no long body in one message`() async throws {
        let (session, peer) = try await started(upstream: nil)
        let caller = Task { try await session.handle(try Self.mounted()) }
        let asked = try await peer.received { $0["method"] == "mount" }
        func answer(_ count: Int, to asked: WireValue) throws {
            try peer.send([
                "response": asked["request"] ?? .null,
                "result": ["status": 200, "body": .data(Array(repeating: 7, count: count))],
            ])
        }
        try answer(MessageBody.acceptedInline, to: asked)
        let response = try await caller.value
        // It counts as an answer that has not ended.
        guard case .stream(let body) = response.body else {
            Issue.record("a long body is sent as it is read")
            return
        }
        #expect(try await body.next()?.count == MessageBody.acceptedInline)
        #expect(try await body.next() == nil)
        let next = Task { try await session.handle(try Self.mounted()) }
        try answer(MessageBody.acceptedInline + 1, to: try await peer.received { $0["method"] == "mount" })
        await #expect(throws: WorkerEnded.self) { try await next.value }
    }

    private static func mounted() throws -> MountRequest {
        MountRequest(
            mount: "files", method: "GET", target: "/files/a", origin: "http://localhost", headers: [:], body: [],
            caller: .testUser, requestID: "r", deadline: .now + .seconds(300),
            records: try MemoryRecords(SampleModule.declare(AdapterConfiguration())).seen(by: .testUser),
            log: .discarding)
    }

    @Test func `are not to signal without end`() async throws {
        let (session, peer) = try await started()
        defer { session.close() }
        for _ in 0..<5_000 {
            try peer.send([
                "event": "signal",
                "params": ["event": "typing", "data": [:], "group": "g", "feed": "feed", "from": "someone"],
            ])
        }
        try peer.send(request(1, "ping", [:]))
        _ = try await peer.received { $0["response"] == 1 }
        #expect((1_000..<4_000).contains(signals.sent))
    }
}
