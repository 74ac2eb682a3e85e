import AdapterKit
import AdapterTesting
import Synchronization
import Testing
import WorkerHost
import WorkerTesting

/// Each feature through both modes: what an adapter does in the process of the host, it does as a worker.
@Suite struct `An adapter in the process and as a worker` {
    static let modes = Mode.allCases.map { $0.module(SampleModule.self) }

    private func host(
        _ mode: Int, upstream: (any Upstream)? = nil, people: People? = nil, log: Log = .discarding
    ) async throws -> TestHost {
        try await TestHost(
            Self.modes[mode], AdapterConfiguration(["key": "s3cret"]), withSamples: true,
            accounts: ["someone", "other"], upstream: upstream, live: people ?? NoLiveSignals(),
            push: people ?? NoPushSender(), changeFeed: people ?? NoChangeFeed(), log: log)
    }

    @Test(arguments: [0, 1])
    func `answers with what it was given, whatever the value`(mode: Int) async throws {
        let input: WireDictionary = [
            "text": "é\u{301}𝄞", "list": [1, -1, 1.5, .uint64(.max), true, .int64(.min)],
            "date": .date(WireDate(secondsSince1970: 1_700_000_000.123)), "bytes": .data([0, 255]),
            "decimal": .decimal(try #require(WireDecimal("-123456789012345678901234567890.50"))), "empty": [:],
        ]
        #expect(try await host(mode).value("echo", input) == .dictionary(input))
    }

    @Test(arguments: [0, 1])
    func `throws what a caller should learn, and hides what not`(mode: Int) async throws {
        let host = try await host(mode)
        await #expect {
            try await host.call("fail", ["text": "there"])
        } throws: { error in
            let error = error as? PorticoError
            return error?.code == .recordConflict && error?.message == "no" && error?.target == "there"
                && error?.retryAfter == 3 && error?.logDetail == "detail"
        }
        await #expect {
            try await host.call("oddly")
        } throws: { error in
            error is Odd || (error as? PorticoError)?.code == .serverInternal
        }
    }

    @Test(arguments: [0, 1])
    func `throws that a document of another system cannot be used, which the gateway maps`(mode: Int) async throws {
        let host = try await host(mode)
        await #expect(throws: MirrorRefusal(.malformed, "half a document")) {
            try await host.call("fail", ["text": "refused"])
        }
        await #expect(throws: MirrorRefusal(.malformed, "half a document")) {
            _ = try await host.adapter.handle(host.mounted("GET", "/files/refused", []))
        }
    }

    @Test(arguments: [0, 1])
    func `reads and writes records with its caller's rights`(mode: Int) async throws {
        let host = try await host(mode)
        let written = try await host.value("write", ["text": "mine"])
        #expect(written["owner"] == "someone")
        #expect(written["count"] == 7)
        await #expect {
            try await host.call("write", ["text": "mine"], as: .user("another"))
        } throws: {
            ($0 as? PorticoError)?.code == .recordExists
        }
        let page = try await host.value("page")
        #expect(
            page["names"] == ["n4", "n5", "n6", "mine", "n7"] || page["names"] == ["n4", "n5", "n6", "n7", "mine"])
        #expect(page["total"] == .int64(998))
        #expect(page["one"] == 4)
        #expect(page["count"] == .int64(112))
    }

    @Test(arguments: [0, 1])
    func `asks for accounts, pushes, signals and keeps files`(mode: Int) async throws {
        let host = try await host(mode)
        #expect(try await host.value("account", ["text": "OTHER"]) == ["other", ["other", "someone"]])
        if mode == 1 {
            // The test host itself gives adapters no files.
            #expect(try await host.value("scratch", ["text": "kept"]) == .data(Array("scratch kept".utf8)))
        }
        #expect(try await host.value("push", ["text": "hello"]) == "failed(\"no push service is configured\")")
        #expect(try await host.value("signal", ["text": "hello"]) == [])
        #expect(try await host.value("secret") == "s3cret")
    }

    @Test(arguments: Mode.allCases)
    func `knows the session of a call, and whether it has ended`(mode: Mode) async throws {
        try await withSample(as: mode, accounts: OneSession()) { adapter, records in
            for (session, account, isOpen) in [
                ("open", "other", true), ("ended", "other", false), ("open", "one", false),
            ] {
                let call = Call(
                    operation: "account", input: ["text": .string(account)], caller: .user("other"), session: session,
                    requestID: "r", deadline: .now + .seconds(600), records: records, log: .discarding)
                let answer = try await adapter.handle(call)
                #expect(answer == .value(.bool(isOpen)))
            }
        }
    }

    @Test(arguments: [0, 1])
    func `reaches people who listen, and devices`(mode: Int) async throws {
        let people = People()
        let host = try await host(mode, people: people)
        #expect(try await host.value("push", ["text": "hello"]) == "deviceGone")
        #expect(try await host.value("signal", ["text": "hello"]) == ["other", "third"])
        let seen = people.seen.withLock { $0 }
        #expect(seen == ["1 hello b t [x: 1] to phone token", "typing [who: hello] in room of feed from someone"])
    }

    @Test(arguments: [0, 1])
    func `hears of the records that are created`(mode: Int) async throws {
        let host = try await host(mode, people: People())
        #expect(try await host.value("created") == [41, ["made of items after 41"], 42])
    }

    @Test(arguments: Mode.allCases)
    func `logs in the course of a call, and for itself`(mode: Mode) async throws {
        let lines = Mutex<[String]>([])
        let sink: Log.Sink = { message in
            lines.withLock { $0.append("\(message.level) \(message.text) \(message.values.map(\.key))") }
        }
        let adapter: any Adapter =
            mode == .worker
            ? try await WorkerPair(SampleModule.self, AdapterConfiguration(), log: sink).session
            : try SampleModule.make(AdapterConfiguration())
        let records = try MemoryRecords(SampleModule.declare(AdapterConfiguration()))
        try await adapter.start(
            AdapterContext(
                records: records.unrestricted, accounts: MemoryAccounts([]), log: Log(sink), clock: SettableClock()))
        _ = try await adapter.handle(
            Call(
                operation: "log", input: ["text": "t"], caller: .testUser, requestID: "r",
                deadline: .now + .seconds(30),
                records: records.seen(by: .testUser), log: Log(sink)))
        // A worker's lines are events, which come before the response.
        let text = "info logged in a call [\"text\", \"count\", \"flag\"]"
        #expect(lines.withLock { $0 } == [text, "warning logged by the adapter []"])
        await adapter.stop()
    }

    /// What is begun with the adapter has no call, and what a call began goes on when it is answered.
    @Test(arguments: Mode.allCases, ["start", "call"])
    func `goes on with its own work beside calls`(mode: Mode, beginning: String) async throws {
        let upstream = ScriptedUpstream(url: try #require(UpstreamAddress("http://localhost/"))) {
            (request, _) async throws(UpstreamFailure) -> UpstreamResponse in
            UpstreamResponse(address: request.address, status: 203, fields: [:], body: [1])
        }
        let people = People()
        try await withSample(as: mode, people: people, upstream: upstream, accounts: MemoryAccounts(["other"])) {
            adapter, records in
            _ = try await value(adapter, .begin, records)
            for turn in 1...2 {
                #expect(
                    try await value(adapter, .beside, records, beginning) == [
                        "owner": "system", "counted": 1_001, "account": "other", "streamed": "1001",
                        "push": "deviceGone", "listeners": ["other", "third"], "upstream": 203,
                    ])
                #expect(people.seen.withLock { $0.count } == 2 * turn)
            }
        }
    }

    @Test(arguments: [0, 1])
    func `counts and measures, and of what is none nothing reaches the host`(mode: Int) async throws {
        let reported = Reported()
        let host = try await TestHost(Self.modes[mode], metrics: AdapterMetrics { reported.take($0) })
        for _ in 0..<100 { try await host.call("measure") }
        try await reported.until { $0.counters["calls"] == 500 && $0.gauges["length"] == 3.5 }
        #expect(mode == 0 || reported.values.changes < 100)
        // What was counted last arrives where the adapter is stopped at once.
        try await host.call("measure")
        await host.adapter.stop()
        try await reported.until { $0.counters["calls"] == 505 }
        #expect(reported.values.refused == 0)
    }

    @Test(arguments: [0, 1])
    func `calls an upstream with bodies both ways`(mode: Int) async throws {
        let body = Array(repeating: UInt8(ascii: "x"), count: 300_000)
        let upstream = ScriptedUpstream(url: try #require(UpstreamAddress("http://localhost/"))) {
            (request, caller) async throws(UpstreamFailure) -> UpstreamResponse in
            guard !request.address.path.hasSuffix("down") else {
                throw UpstreamFailure(.timedOut, of: "upstream", detail: "d")
            }
            var sent = 0
            do {
                while let piece = try await request.streamedBody?.next() { sent += piece.count }
            } catch {
                throw UpstreamFailure(.broken, of: "upstream", detail: "\(error)")
            }
            return UpstreamResponse(
                address: request.address, status: 203, fields: ["Content-Type": "text/\(sent)"], body: body)
        }
        let host = try await host(mode, upstream: upstream)
        let answer = try await host.value("call", ["text": "path"])
        #expect(answer == ["status": 203, "body": .data(body), "again": .data(body), "type": "text/0"])
        #expect(try await host.value("upload", ["text": "path"])["type"] == "text/60000")
        #expect(upstream.asked.map { $0.caller?.name } == ["someone", nil, "someone", nil])
        await #expect(throws: UpstreamFailure(.timedOut, of: "upstream", detail: "d")) {
            try await host.call("call", ["text": "down"])
        }
    }

    @Test(arguments: [0, 1])
    func `answers a mount with bodies of any length, both ways`(mode: Int) async throws {
        let host = try await host(mode)
        let body = (0..<500_000).map { UInt8(truncatingIfNeeded: $0) }
        let posted = try await host.adapter.handle(host.mounted("POST", "/files/a", body))
        #expect(posted.status == 201)
        #expect(posted.headers["X-Size"] == "500000")
        #expect(posted.headers["X-Name"] == "value")
        #expect(try await posted.collected() == body.reversed())
        let read = try await host.adapter.handle(host.mounted("GET", "/files/b", []))
        #expect(read.headers["Age"] == "-1")
        #expect(try await read.collected() == Array(repeatElement(Array("0123456789".utf8), count: 100_000).joined()))
        let late = try await host.adapter.handle(host.mounted("GET", "/files/records", []))
        #expect(try await late.collected() == Array("1000".utf8))
        await #expect {
            _ = try await host.adapter.handle(host.mounted("GET", "/files/error", []))
        } throws: {
            ($0 as? PorticoError)?.code == .recordNotFound
        }
    }

    @Test(arguments: [0, 1])
    func `settles conflicts, reads and writes mirrors, lists itself`(mode: Int) async throws {
        let adapter = try await host(mode).adapter
        let current = Record(id: "a", revision: Revision(3), fields: ["name": "n"])
        let conflict = RecordConflict(
            entity: "items", change: .update(["name": "x"]), current: current, changedSince: ["name"], caller: .testUser
        )
        #expect(try await adapter.resolve(conflict) == .change(["name": "x"]))
        let page = try await adapter.readMirror(MirrorRequest("items", page: "p", since: "s", deadline: .seconds(3)))
        #expect(
            page
                == MirrorPage(
                    [["id": "p"]], removed: ["gone"], next: "s", cursor: "c", age: .milliseconds(1_500)))
        await #expect(throws: MirrorRefusal(.malformed, "half a document")) {
            try await adapter.readMirror(MirrorRequest("items", page: "refused"))
        }
        for (operation, result) in [
            (.create, .stored(["name": "n"])), (.update, .refused(.recordConflict, "no")),
            (.replace, .notMade("later")), (.delete, .unknown("perhaps")),
        ] as [(MirrorChange.Kind, MirrorWriteResult)] {
            let change = MirrorChange(
                "items", "a", operation, fields: ["name": "n"], idempotencyKey: "k", mayRepeat: true)
            #expect(try await adapter.writeMirror(change) == result)
        }
        #expect(try await adapter.readMirror("items", "absent") == .absent)
        #expect(try await adapter.readMirror("items", "b") == .found(["id": "b"]))
        #expect(try await adapter.frontPageEntries().map(\.title) == ["Sample"])
    }

    @Test(arguments: [0, 1])
    func `performs operations of another adapter's service`(mode: Int) async throws {
        let host = try await host(mode)
        let service = MemoryService(records: host.records.unrestricted)
        let operations = try #require(host.adapter.serviceOperations.first { $0.names.contains("Sample.Count") })
        let result = try await operations.perform(
            ServiceCall(
                name: "Sample.Count", parameters: ["limit"], arguments: ["limit": 3], binding: .none, service: service,
                caller: .testUser))
        guard case .value(let value) = result else {
            Issue.record("\(result)")
            return
        }
        #expect(value == [1_000, 3, "someone"])
        #expect(service.reseeded.withLock { $0 } == 1)
    }

    @Test(arguments: [0, 1])
    func `knows the request that it answers`(mode: Int) async throws {
        let host = try await host(mode)
        let context = CallContext(deadline: .now + .seconds(10), requestID: "r-1", traceParent: "00-1")
        try await CallContext.$current.withValue(context) {
            #expect(try await host.value("context") == ["r-1", "00-1"])
            let conflict = RecordConflict(
                entity: "items", change: .create(["name": "request"]),
                current: Record(id: "a", revision: Revision(3), fields: [:]), changedSince: nil, caller: .testUser)
            #expect(try await host.adapter.resolve(conflict) == .change(["name": "r-1"]))
            let operations = try #require(host.adapter.serviceOperations.first)
            let service = MemoryService(records: host.records.unrestricted)
            let result = try await operations.perform(
                ServiceCall(
                    name: "Sample.Request", parameters: [], arguments: [:], binding: .none, service: service,
                    caller: .testUser))
            guard case .value("r-1") = result else {
                Issue.record("\(result)")
                return
            }
        }
    }

    @Test(arguments: [0, 1])
    func `says how old an answer is that another system had kept`(mode: Int) async throws {
        let answer = try await host(mode).call("aged")
        #expect(answer == .value("old", validators: Validators(version: "v"), age: .milliseconds(1_500)))
    }

    /// A worker declares what it says in the process, but for its rules, by the same configuration.
    @Test(arguments: Mode.allCases)
    func `declares of what its mirrors are made, by whose names its upstreams are called`(mode: Mode) async throws {
        let configuration = AdapterConfiguration(["key": "k"], directory: "/d", upstreamsOfCallers: ["crm", "site"])
        let declaration =
            mode == .worker
            ? try await WorkerPair(SampleModule.self, nil).session.describe(configuration).declaration
            : try SampleModule.declare(configuration)
        #expect(declaration.summary == "Uses everything of /d for crm, site.")
        #expect(declaration.mirrors.map(\.derivedEntity) == ["items"])
        #expect(declaration == (try SampleModule.declare(configuration)))
    }

    @Test(arguments: [0, 1])
    func `ends a call whose caller waits no more`(mode: Int) async throws {
        let host = try await host(mode)
        let task = Task { try await host.call("wait") }
        try await Task.sleep(for: .milliseconds(20))
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try await host.value("echo", ["text": "still"]) == ["text": "still"])
    }

    @Test(arguments: [0, 1])
    func `answers many calls at once`(mode: Int) async throws {
        let host = try await host(mode)
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<500 {
                group.addTask {
                    try await host.value("echo", ["text": .string("\(number)")])["text"] == .string("\(number)")
                }
            }
            for try await isRight in group { #expect(isRight) }
        }
    }
}

/// People who listen and have devices, and records that were created.
final class People: LiveSignals, PushSender, ChangeFeed {
    let seen = Mutex<[String]>([])

    let platforms: [PushPlatform] = ["phone"]
    let position = Revision(41)

    func signal(
        _ event: EventName, _ data: WireDictionary, in group: RecordID, of feed: LiveFeedName, from sender: String
    ) {
        seen.withLock { $0.append("\(event) \(Self.text(data)) in \(group) of \(feed) from \(sender)") }
    }

    func listeners(in group: RecordID, of feed: LiveFeedName, limit: Int) -> [String] {
        Array(["other", "third", "fourth", "fifth", "sixth", "seventh"].prefix(limit - 3))
    }

    func send(_ note: PushNotification, to device: PushDevice) async -> PushDelivery {
        seen.withLock {
            $0.append(
                "\(note.id) \(note.title) \(note.body) \(note.thread ?? "none") \(Self.text(note.data)) to \(device.platform) \(device.token.reveal())"
            )
        }
        return .deviceGone
    }

    func created(in entity: EntityName, after position: Revision) async throws -> CreatedRecords {
        CreatedRecords(
            records: [
                Record(
                    id: RecordID(unchecked: "made of \(entity) after \(position.number)"), revision: position,
                    fields: [:])
            ],
            position: Revision(42))
    }

    private static func text(_ data: WireDictionary) -> String {
        "[\(data.entries.map { "\($0.key): \($0.value.stringValue ?? "\($0.value.int64Value ?? -1)")" }.joined(separator: ", "))]"
    }
}

final class MemoryService: ServiceRecords {
    let records: any RecordStore
    let reseeded = Mutex(0)

    init(records: any RecordStore) { self.records = records }

    func entity(of set: String) -> EntityName? { set == "Items" ? "items" : nil }
    func field(_ property: String, of set: String) -> FieldName? { property == "Name" ? "name" : nil }
    func reseed() async throws { reseeded.withLock { $0 += 1 } }
}

extension TestHost {
    func mounted(_ method: String, _ target: String, _ body: [UInt8]) -> MountRequest {
        MountRequest(
            mount: "files", method: method, target: target, origin: "http://localhost", headers: ["X-Name": "value"],
            body: body, caller: .testUser, requestID: "r", deadline: .now + .seconds(30),
            records: records.seen(by: .testUser), log: .discarding)
    }
}

extension MountResponse {
    func collected() async throws -> [UInt8] {
        switch body {
        case .bytes(let bytes): return bytes
        case .stream(let stream):
            var bytes: [UInt8] = []
            while let piece = try await stream.next() { bytes += piece }
            return bytes
        }
    }
}
