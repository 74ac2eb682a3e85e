import AdapterKit
import Foundation
import Glibc

/// An adapter that uses all that the host gives it, one operation for each.
enum SampleModule: AdapterModule {
    static let name: AdapterName = "sample"
    static let items: EntityName = "items"

    static let options = [
        ConfigurationOption("upstream", .upstream, summary: "A system to call."),
        ConfigurationOption("key", .secret, summary: "A secret."),
    ]

    static func declare(_ configuration: AdapterConfiguration) throws -> AdapterDeclaration {
        if configuration["broken"] != nil { throw ConfigurationProblem("broken", "This makes no sense.") }
        let callers = configuration.upstreamsOfCallers.map(\.text).sorted().joined(separator: ", ")
        let summary =
            callers.isEmpty ? "Uses everything." : "Uses everything of \(configuration.directory) for \(callers)."
        let string = ObjectShape("Text", members: [Member("text", .string)])
        return AdapterDeclaration(
            name: name, title: "Sample", summary: summary, version: "1.0.0", access: .public,
            entities: [
                Entity(
                    items, summary: "An item.", key: EntityKey("id"),
                    fields: [
                        Field("id", .string, source: .callerOnCreate), Field("name", .string, isRequired: true),
                        Field("count", .integer, defaultValue: 0), Field("owner", .string, source: .creator),
                    ], rows: RowRules(read: .everyone, write: .owner("owner")), conflictPolicy: .adapterDecides)
            ],
            operations: Action.allCases.map {
                Operation(
                    OperationName(unchecked: $0.rawValue), summary: "Does it.", effect: .writes,
                    input: ObjectShape("Input", isOpen: true, members: string.members), output: .any)
            },
            mounts: [
                HTTPMount("files", summary: "Files.", path: "/files", methods: ["GET", "POST"])
            ], mirrors: callers.isEmpty ? [] : [MirrorSource(items, of: "site", derivedEntity: items)])
    }

    static func make(_ configuration: AdapterConfiguration) throws -> any Adapter {
        SampleAdapter(key: configuration["key"]?.stringValue)
    }

    enum Action: String, CaseIterable {
        case echo, fail, oddly, wait, write, page, snapshot, hold, rows, streamed, account, call, upload, log, scratch,
            push, signal, created, context, secret, begin, beside, aged, measure
    }
}

actor SampleAdapter: Adapter {
    private let key: String?
    private var context: AdapterContext?
    /// What goes on beside calls, by what began it.
    private var loops: [String: Loop] = [:]

    init(key: String?) { self.key = key }

    func start(_ context: AdapterContext) async throws {
        self.context = context
        loops["start"] = Loop(context)
    }

    nonisolated var serviceOperations: [any ServiceOperations] { [SampleService()] }

    nonisolated func sampleRecords() throws -> [SampleRecords] {
        [
            SampleRecords(
                SampleModule.items,
                (1...1_000).map {
                    ["id": .string("item-\($0 + 1_000)"), "name": .string("n\($0)"), "count": .int64($0)]
                })
        ]
    }

    func frontPageEntries() async throws -> [FrontPageEntry] {
        [FrontPageEntry(title: "Sample", path: "/files", summary: "Files.")]
    }

    func resolve(_ conflict: RecordConflict) async throws -> ConflictResolution {
        switch conflict.change {
        case .update(let fields): .change(fields)
        case .create(["name": "request"]): .change(["name": .string(CallContext.current?.requestID ?? "")])
        case .create: .keep
        case .delete: .delete
        }
    }

    func readMirror(_ request: MirrorRequest) async throws -> MirrorPage {
        if request.page == "refused" { throw MirrorRefusal(.malformed, "half a document") }
        return MirrorPage(
            [["id": .string(request.page ?? "first")]], removed: ["gone"], next: request.since, cursor: "c",
            age: .milliseconds(1_500))
    }

    func writeMirror(_ change: MirrorChange) async throws -> MirrorWriteResult {
        switch change.operation {
        case .create: .stored(change.after)
        case .update: .refused(.recordConflict, "no")
        case .replace: .notMade("later")
        case .delete: .unknown("perhaps")
        }
    }

    func readMirror(_ entity: EntityName, _ id: RecordID) async throws -> MirrorRecord {
        id == "absent" ? .absent : .found(["id": .string(id.text)])
    }

    func handle(_ call: Call) async throws -> OperationResult {
        guard let action = SampleModule.Action(rawValue: call.operation.text), let context else {
            throw PorticoError(.routeNotFound, "There is no such operation.")
        }
        switch action {
        case .begin: loops["call"] = Loop(context)
        case .aged: return .value("old", validators: Validators(version: "v"), age: .milliseconds(1_500))
        case .beside: return .value(try await loops[call["text"].stringValue ?? ""]?.turn() ?? .null)
        default: return .value(try await Self.perform(action, call, context, key))
        }
        return .nothing
    }

    private static func perform(
        _ action: SampleModule.Action, _ call: Call, _ context: AdapterContext, _ key: String?
    ) async throws -> WireValue {
        let text = call["text"].stringValue ?? ""
        switch action {
        case .echo: return .dictionary(call.input)
        case .fail:
            if text == "refused" { throw MirrorRefusal(.malformed, "half a document") }
            throw PorticoError(.recordConflict, "no", target: text, retryAfter: 3, logDetail: "detail")
        case .oddly: throw Odd()
        case .wait:
            try await Task.sleep(for: .seconds(600))
            return .null
        case .write:
            let record = try await call.records.create(
                ["name": .string(text)], id: RecordID(text), in: SampleModule.items)
            let updated = try await call.records.update(record.id, ["count": 7], in: SampleModule.items)
            return .dictionary(updated.fields)
        case .page:
            let page = try await call.records.query(
                Query(.compare("count", .greater, 3), order: [SortKey("count")], limit: 5, countsAll: true),
                in: SampleModule.items)
            let one = try await call.records.record(page.records[0].id, in: SampleModule.items)
            let count = try await call.records.count(.hasPrefix("name", "n1"), in: SampleModule.items)
            return [
                "names": .array(page.records.map { $0["name"] }), "total": .int64(Int64(page.total ?? -1)),
                "one": one?["count"] ?? .null, "count": .int64(Int64(count)), "next": .array(page.next?.values ?? []),
            ]
        case .snapshot:
            return try await call.records.withReadSnapshot { snapshot in
                let record = try snapshot.record("item-1007", in: SampleModule.items)
                let count = try snapshot.count(nil, in: SampleModule.items)
                return ["count": .int64(Int64(count)), "record": record?["name"] ?? .null]
            }
        case .hold:
            // Until it is taken away, or for longer than a test takes.
            return try await call.records.withReadSnapshot { snapshot in
                for _ in 0..<300_000 {
                    _ = try snapshot.record("item-1007", in: SampleModule.items)
                    usleep(text == "busy" ? 100 : 100_000)
                }
                return .null
            }
        case .rows:
            let relation = Relation(
                .records(SampleModule.items, as: 0), columns: [.field(0, "count")],
                order: [RowOrder(.field(0, "count"))])
            return try await call.records.withReadSnapshot { snapshot in
                .array(try snapshot.rows(relation).map { $0[0] })
            }
        case .streamed:
            let stream = try await call.records.streamSnapshot(within: .seconds(20)) { snapshot, output in
                for start in 0..<10 {
                    let page = try snapshot.query(
                        Query(order: [SortKey("count")], limit: 100, start: .offset(start * 100)),
                        in: SampleModule.items)
                    try output.send(page.records.flatMap { Array("\($0["name"].stringValue ?? "");".utf8) })
                }
            }
            var bytes: [UInt8] = []
            while let piece = try await stream.next() { bytes += piece }
            return .data(bytes)
        case .account:
            let one = try await context.accounts.account(named: text)
            let names = try await context.accounts.accounts(after: nil, limit: 10).map { WireValue.string($0.name) }
            guard let session = call.session else { return [.string(one?.id ?? "none"), .array(names)] }
            return .bool(try await context.accounts.hasSession(session, of: one?.id ?? ""))
        case .call, .upload:
            guard let upstream = context.upstream, let address = upstream.url.resolving(text) else { return .null }
            var request = UpstreamRequest(action == .call ? .get : .post, address)
            if action == .upload { request.streamedBody = TextPieces("piece;", count: 10_000) }
            let response = try await upstream.stream(request, for: call.caller)
            let whole = try await response.collected()
            let sent = try await upstream.send(UpstreamRequest(.get, address), for: nil)
            return [
                "status": .int64(Int64(whole.status)), "body": .data(whole.body), "again": .data(sent.body),
                "type": .string(whole.fields["Content-Type"] ?? ""),
            ]
        case .log:
            call.log.info("logged in a call", ["text": .text(text), "count": 3, "flag": true])
            context.log(.warning, "logged by the adapter")
            return .null
        case .measure:
            for amount in [2, 3, -1] { context.metrics.increment("calls", by: amount) }
            for value in [7, 3.5, .nan] { context.metrics.set("length", value) }
            return .null
        case .scratch:
            let file = try context.scratch.create()
            try file.append(Array("scratch ".utf8))
            try file.append(Array(text.utf8))
            let contents = try file.contents()
            var bytes: [UInt8] = []
            while let piece = try await contents.next() { bytes += piece }
            return .data(bytes)
        case .push: return .string("\(await context.note(text))")
        case .signal: return .array(await context.signal(text).map(WireValue.string))
        case .created:
            let position = await offPool { context.changeFeed.position }
            let created = try await context.changeFeed.created(in: SampleModule.items, after: position)
            return [
                .int64(position.number), .array(created.records.map { .string($0.id.text) }),
                .int64(created.position.number),
            ]
        case .context:
            return [.string(CallContext.current?.requestID ?? ""), .string(CallContext.current?.traceParent ?? "")]
        case .secret: return .string(key ?? "")
        // The adapter itself does these.
        case .begin, .beside, .aged: return .null
        }
    }

    func handle(_ request: MountRequest) async throws -> MountResponse {
        if request.target == "/files/error" { throw PorticoError(.recordNotFound, "There is no such file.") }
        if request.target == "/files/refused" { throw MirrorRefusal(.malformed, "half a document") }
        if request.method == "POST" {
            return MountResponse(
                201, headers: ["X-Size": "\(request.body.count)", "X-Name": request.headers["X-Name"] ?? ""],
                body: request.body.reversed())
        }
        if request.target == "/files/records" {
            let records = request.records
            return MountResponse(
                200, headers: [:],
                body: .stream(
                    LazyPieces {
                        Array("\(try await records.count(nil, in: SampleModule.items))".utf8)
                    }))
        }
        let age = try await request.ages.age(of: [SampleModule.items])
        return MountResponse(
            200, headers: ["Content-Type": "text/plain", "Age": "\(age?.seconds ?? -1)"],
            body: .stream(TextPieces("0123456789", count: 100_000)))
    }
}

extension AdapterContext {
    fileprivate func note(_ title: String) async -> PushDelivery {
        await push.send(
            PushNotification(id: "1", title: title, body: "b", thread: "t", data: ["x": 1]),
            to: PushDevice(push.platforms.first ?? "none", token: Secret("token")))
    }

    fileprivate func signal(_ who: String) async -> [String] {
        live.signal("typing", ["who": .string(who)], in: "room", of: "feed", from: "someone")
        return await offPool { live.listeners(in: "room", of: "feed", limit: 5) }
    }
}

/// Runs what blocks its thread apart from the few that all tasks share: a test's host is in the same process, and answers on
/// those.
private func offPool<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
    await withCheckedContinuation { continuation in
        DispatchQueue.global().async { continuation.resume(returning: body()) }
    }
}

/// A task that uses all that the host gives the adapter for itself, whenever it is asked to: as a loop does that polls,
/// pushes or removes what is old.
final class Loop: Sendable {
    private let turns: AsyncStream<CheckedContinuation<WireValue, any Error>>.Continuation

    init(_ context: AdapterContext) {
        let (asked, turns) = AsyncStream.makeStream(of: CheckedContinuation<WireValue, any Error>.self)
        self.turns = turns
        Task {
            for await reply in asked {
                do { reply.resume(returning: try await Self.turn(context)) } catch { reply.resume(throwing: error) }
            }
        }
    }

    deinit { turns.finish() }

    func turn() async throws -> WireValue {
        try await withCheckedThrowingContinuation { turns.yield($0) }
    }

    private static func turn(_ context: AdapterContext) async throws -> WireValue {
        let made = try await context.records.create(["name": "beside"], id: "beside", in: SampleModule.items)
        let counted = try await context.records.withReadSnapshot { try $0.count(nil, in: SampleModule.items) }
        let pieces = try await context.records.streamSnapshot(within: .seconds(20)) { snapshot, output in
            try output.send(Array("\(try snapshot.count(nil, in: SampleModule.items))".utf8))
        }
        let streamed = try await pieces.next() ?? []
        try await context.records.delete(made.id, in: SampleModule.items)
        let account = try await context.accounts.account(named: "other")
        let delivery = await context.note("beside")
        let listeners = await context.signal("beside")
        var status: WireValue = .null
        if let upstream = context.upstream {
            status = .int64(Int64(try await upstream.send(UpstreamRequest(.get, upstream.url), for: nil).status))
        }
        return [
            "owner": made["owner"], "counted": .int64(Int64(counted)), "account": .string(account?.name ?? "none"),
            "streamed": .string(String(decoding: streamed, as: UTF8.self)), "push": .string("\(delivery)"),
            "listeners": .array(listeners.map(WireValue.string)), "upstream": status,
        ]
    }
}

struct Odd: Error {}

struct SampleService: ServiceOperations {
    var names: Set<String> { ["Sample.Count", "Sample.Request"] }

    func perform(_ call: ServiceCall) async throws -> ServiceResult {
        if call.name == "Sample.Request" { return .value(.string(CallContext.current?.requestID ?? "")) }
        guard let entity = call.service.entity(of: "Items"), call.service.field("Name", of: "Items") == "name" else {
            return .nothing
        }
        try await call.service.reseed()
        let count = try await call.service.records.count(nil, in: entity)
        return .value([.int64(Int64(count)), call["limit"], .string(call.caller.name)])
    }
}

/// One text so many times.
final actor TextPieces: ByteStream {
    private let piece: [UInt8]
    private var left: Int

    init(_ text: String, count: Int) {
        piece = Array(text.utf8)
        left = count
    }

    func next() -> [UInt8]? {
        guard left > 0 else { return nil }
        let count = min(left, 1_000)
        left -= count
        return Array(repeatElement(piece, count: count).joined())
    }

    nonisolated func cancel() {}
}

final actor LazyPieces: ByteStream {
    private var make: (@Sendable () async throws -> [UInt8])?

    init(_ make: @escaping @Sendable () async throws -> [UInt8]) { self.make = make }

    func next() async throws -> [UInt8]? {
        defer { make = nil }
        return try await make?()
    }

    nonisolated func cancel() {}
}
