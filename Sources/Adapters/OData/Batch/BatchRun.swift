import AdapterKit
import ODataEngine

/// A service in one protocol version, as the target of a batch's requests.
protocol BatchTarget: Sendable {
    /// Header fields of the batch that its requests have too.
    static var inheritedFields: [String] { get }

    /// One request of a batch as if it had come alone. Throws `request.invalid` for a batch, however its address is written.
    func answerPart(_ request: MountRequest) async throws -> MountResponse
    /// A failure in the version's own shape.
    func failure(_ error: any Error, of request: MountRequest) -> MountResponse
    /// What an address below the root leads to; nil where it leads nowhere.
    func address(_ target: String) -> ResourcePath?
    /// An entity's address below the root, by its record's fields.
    func path(_ fields: WireDictionary, in table: RecordTable) -> String
}

extension PorticoError {
    static var nestedBatch: PorticoError { PorticoError(.requestInvalid, "A batch has no batches in it.") }
}

/// Runs the requests of a batch one after the other. A change set is one transaction.
struct BatchRun: Sendable {
    let mount: any BatchTarget
    let request: MountRequest
    /// `https://host/odata/v4/service/`
    let root: String
    /// Bytes of an answer that is held in memory.
    let most: Int

    func outcome(of step: BatchStep, _ run: inout BatchProgress) async -> BatchOutcome {
        switch step {
        case .call(let call):
            guard run.canRun(call) else { return run.failing(step) }
            let answer = await answer(call, &run.addresses)
            run.ended(call.id, failed: answer.status >= 400)
            return .reply(BatchReply(id: call.id, answer: answer))
        case .changeSet(let group, let calls):
            guard calls.allSatisfy(run.canRun) else { return run.failing(step) }
            let set = ChangeSetRun(
                records: request.records,
                perform: { call, target, records in await gathered(await perform(call, target, records)) },
                address: { target, stage, before in await created(target, stage, before) },
                failure: { error in mount.failure(error, of: request) })
            let (replies, failed) = await set.replies(calls, group: group, &run.addresses)
            for (call, reply) in zip(calls, replies) { run.ended(call.id, failed: reply.answer.status >= 400) }
            if let group { run.ended(group, failed: failed != nil) }
            return failed.map { .failedSet(replies, failed: $0) } ?? .changeSet(replies)
        }
    }

    private func answer(_ call: BatchCall, _ addresses: inout BatchAddresses) async -> MountResponse {
        do throws(PorticoError) {
            let target = try addresses.relative(call.url)
            let answer = await perform(call.with(body: addresses.resolved(call.body)), target, request.records)
            addresses.remember(call.id, answer.headers["Location"] ?? (call.method == "POST" ? nil : target))
            return answer
        } catch {
            return mount.failure(error, of: request)
        }
    }

    /// One request as if it had come alone, by the same caller.
    private func perform(_ call: BatchCall, _ target: String, _ records: any RecordStore) async -> MountResponse {
        var headers = call.headers
        for name in type(of: mount).inheritedFields where headers[name] == nil {
            headers[name] = request.headers[name]
        }
        let base = String(Substring(root.utf8.dropFirst(request.origin.utf8.count)))
        let inner = MountRequest(
            mount: request.mount, method: call.method, target: base + target, origin: request.origin, headers: headers,
            body: call.body, caller: request.caller, requestID: request.requestID, deadline: request.deadline,
            records: records, ages: request.ages, log: request.log)
        do {
            return try await mount.answerPart(inner)
        } catch {
            return mount.failure(error, of: inner)
        }
    }

    /// What fails while its body is gathered is a failure.
    private func gathered(_ answer: MountResponse) async -> MountResponse {
        do { return try await answer.gathered(upTo: most) } catch { return mount.failure(error, of: request) }
    }

    /// With all bodies buffered; only a single call's response may be a stream.
    func gathered(_ outcome: BatchOutcome) async -> BatchOutcome {
        guard case .reply(let reply) = outcome else { return outcome }
        return .reply(BatchReply(id: reply.id, group: reply.group, answer: await gathered(reply.answer)))
    }

    /// The address of what a request has just created in the set that it addresses.
    private func created(_ target: String, _ stage: ChangeSetBarrier, _ before: Int) async -> String? {
        guard let address = mount.address(target) else { return nil }
        guard case .entities(let collectionPath) = address.target,
            let (_, fields) = await stage.created(in: collectionPath.table.entity, since: before)
        else { return target }
        return mount.path(fields, in: collectionPath.table)
    }
}

extension MountResponse {
    /// With the body buffered.
    /// Throws `request.limitExceeded` for a larger one.
    func gathered(upTo most: Int) async throws -> MountResponse {
        guard case .stream(let pieces) = body else { return self }
        defer { pieces.cancel() }
        var bytes: [UInt8] = []
        while let piece = try await pieces.next() {
            bytes += piece
            guard bytes.count <= most else {
                throw PorticoError(
                    .requestLimitExceeded, "An answer that is held as a whole has at most \(most) bytes.")
            }
        }
        return MountResponse(status, headers: headers, body: bytes)
    }
}

/// One request inside of a batch.
struct BatchCall: Sendable {
    /// `Content-ID`, or `id` in JSON; what others refer to it by.
    let id: String?
    let method: String
    /// As written: absolute, from the host's root, below the service's root, or `$id/…`.
    let url: String
    let headers: MountHeaders
    let body: [UInt8]
    /// JSON's `dependsOn`: ids of calls and names of groups.
    var needs: [String] = []
}

/// One step of a batch: a request or a change set.
enum BatchStep: Sendable {
    case call(BatchCall)
    /// Calls that all happen or none: a change set, or an atomicity group with its name.
    case changeSet(String?, [BatchCall])
}

/// The response to one request of a batch.
struct BatchReply: Sendable {
    let id: String?
    /// The name of the atomicity group.
    var group: String?
    let answer: MountResponse
}

/// The responses to one step of a batch.
enum BatchOutcome: Sendable {
    case reply(BatchReply)
    /// A change set that happened: one for each call.
    case changeSet([BatchReply])
    /// One that did not. JSON has a response for each call; multipart only for the one that failed.
    case failedSet([BatchReply], failed: Int)
}

/// Resolves the addresses of a batch's requests, including references to entities that earlier requests created
/// (Protocol 4.01, section 11.7.3).
struct BatchAddresses: Sendable {
    /// `https://host/odata/v4/service/`
    let root: String
    /// By the id of the request that created or addressed it: an entity's address below the root.
    private(set) var entities: [String: String] = [:]

    init(root: String) {
        self.root = root
    }

    /// From the host's root: `/odata/v4/service/`
    private var rootPath: Substring {
        guard let scheme = root.firstRange(of: "://"), let slash = root[scheme.upperBound...].firstIndex(of: "/") else {
            return root[...]
        }
        return root[slash...]
    }

    mutating func remember(_ id: String?, _ address: String?) {
        guard let id, let address else { return }
        entities[id] = below(address)
    }

    /// Throws `request.invalid` for a reference to a request that has none, and for what is outside of the service.
    func relative(_ url: String) throws(PorticoError) -> String {
        let below = below(url)
        guard below.hasPrefix("$") else { return below }
        let id = below.dropFirst().prefix { $0 != "/" && $0 != "?" }
        if let entity = entities[String(id)] { return entity + below.dropFirst(id.count + 1) }
        guard ["metadata", "entity", "all"].contains(String(id)) || id.hasPrefix("crossjoin") else {
            throw PorticoError(.requestInvalid, "No request before has created $\(id).", target: url)
        }
        return below
    }

    /// Without the service's root, however much of it is there. A plain slash in front is the service's root too: the
    /// protocol makes it the host's, where a batch has nothing to ask.
    private func below(_ url: String) -> String {
        if url.hasPrefix(root) { return String(url.dropFirst(root.count)) }
        if url.hasPrefix(rootPath) { return String(url.dropFirst(rootPath.count)) }
        return String(url.drop { $0 == "/" })
    }

    /// References inside of a body in JSON, as `"$1"` in `@odata.bind`.
    func resolved(_ body: [UInt8]) -> [UInt8] {
        guard !entities.isEmpty, body.contains(UInt8(ascii: "$")), var text = String(validating: body, as: UTF8.self)
        else { return body }
        for (id, entity) in entities { text = text.replacing("\"$\(id)\"", with: "\"\(entity)\"") }
        return Array(text.utf8)
    }
}

/// The entities that a batch has created so far, and the requests that failed.
struct BatchProgress {
    var addresses: BatchAddresses
    private var failed: Set<String> = []
    private(set) var hasFailed = false

    init(addresses: BatchAddresses) {
        self.addresses = addresses
    }

    func canRun(_ call: BatchCall) -> Bool { failed.isDisjoint(with: call.needs) }

    mutating func ended(_ id: String?, failed isFailed: Bool) {
        guard isFailed else { return }
        hasFailed = true
        if let id { failed.insert(id) }
    }

    /// A step that cannot run because of another's failure; those that need it cannot either.
    mutating func failing(_ step: BatchStep) -> BatchOutcome {
        switch step {
        case .call(let call): ended(call.id, failed: true)
        case .changeSet(let group, let calls): for id in calls.map(\.id) + [group] { ended(id, failed: true) }
        }
        return Self.skipped(step)
    }

    static func skipped(_ step: BatchStep) -> BatchOutcome {
        switch step {
        case .call(let call): return .reply(BatchReply(id: call.id, answer: BatchFailure.dependency))
        case .changeSet(let group, let calls):
            return .failedSet(
                calls.map { BatchReply(id: $0.id, group: group, answer: BatchFailure.dependency) }, failed: 0)
        }
    }
}

/// A running batch: its remaining steps and the outcomes of those before.
///
/// It stops at the first failure unless the batch asks to continue. In JSON skipped requests have a response too
/// (`fillsUp`).
struct BatchExecution: Sendable {
    let run: BatchRun
    private let goesOn: Bool
    private let fillsUp: Bool
    private var steps: ArraySlice<BatchStep>
    private var progress: BatchProgress
    /// Behind the last step that may change something.
    private let readsFrom: Int

    init(_ steps: [BatchStep], _ run: BatchRun, goesOn: Bool, fillsUp: Bool) {
        self.steps = steps[...]
        (self.run, self.goesOn, self.fillsUp) = (run, goesOn, fillsUp)
        progress = BatchProgress(addresses: BatchAddresses(root: run.root))
        readsFrom = steps.lastIndex { !$0.isRead }.map { $0 + 1 } ?? 0
    }

    /// Whether all remaining steps only read: they may then wait until the client reads the response.
    var onlyReads: Bool { steps.startIndex >= readsFrom }

    /// What the next step answers; nil at the end. A body may be one of pieces.
    /// Throws `CancellationError` where the client no longer waits for the response.
    mutating func next() async throws -> BatchOutcome? {
        try Task.checkCancellation()
        guard let step = steps.popFirst() else { return nil }
        guard progress.hasFailed, !goesOn else { return await run.outcome(of: step, &progress) }
        return fillsUp ? BatchProgress.skipped(step) : nil
    }
}

extension BatchStep {
    fileprivate var isRead: Bool {
        if case .call(let call) = self { call.method == "GET" } else { false }
    }
}
