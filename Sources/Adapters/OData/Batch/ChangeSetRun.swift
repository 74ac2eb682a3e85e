import AdapterKit

/// Runs the requests of one change set up to their writes, applies all writes in one transaction, then resumes the
/// requests. Reading requests come last, so that they see what was written.
struct ChangeSetRun: Sendable {
    typealias Perform = @Sendable (BatchCall, String, any RecordStore) async -> MountResponse

    let records: any RecordStore
    let perform: Perform
    /// The address of what a request creates, of the entity of the set that it addresses.
    let address: @Sendable (String, ChangeSetBarrier, Int) async -> String?
    /// A failure of the set's own, in the version's shape.
    let failure: @Sendable (any Error) -> MountResponse

    /// The replies, and which request failed first; nil where all went well.
    func replies(
        _ calls: [BatchCall], group: String?, _ addresses: inout BatchAddresses
    ) async -> (replies: [BatchReply], failed: Int?) {
        let stage = ChangeSetBarrier()
        let ended = EndedCalls()
        return await withTaskGroup(of: Void.self) { tasks in
            var refused: [Int: PorticoError] = [:]
            var ids: Set<String> = []
            for (index, call) in calls.enumerated() where call.method != "GET" {
                if let id = call.id, !ids.insert(id).inserted {
                    refused[index] = PorticoError(.requestInvalid, "The Content-ID \(id) is there twice.")
                    break
                }
                let before = await stage.count
                let target: String
                do throws(PorticoError) { target = try addresses.relative(call.url) } catch {
                    refused[index] = error
                    break
                }
                let resolved = call.with(body: addresses.resolved(call.body))
                tasks.addTask {
                    let answer = await perform(resolved, target, StagedRecords(base: records, stage: stage))
                    await ended.add(index, answer)
                    await stage.arrive()
                }
                await stage.waitForArrival()
                if await ended.hasFailed { break }
                addresses.remember(call.id, await address(target, stage, before))
            }
            if refused.isEmpty, await !ended.hasFailed { await admitReads(calls, addresses, ended) }
            var isMade = await !ended.hasFailed && refused.isEmpty
            if isMade { isMade = await stage.commit(to: records) } else { await stage.abandon() }
            await tasks.waitForAll()
            if isMade { await read(calls, addresses, ended) }
            return await outcome(calls, group, refused, ended, isMade: isMade)
        }
    }

    /// Reads come last, when nothing can be taken back: the caller that may not make one of them is refused before. What
    /// they find now does not matter.
    private func admitReads(_ calls: [BatchCall], _ addresses: BatchAddresses, _ ended: EndedCalls) async {
        for (index, call) in calls.enumerated() where call.method == "GET" {
            guard let target = try? addresses.relative(call.url) else { continue }
            let answer = await perform(call, target, records)
            if answer.status == 401 || answer.status == 403 { await ended.add(index, answer) }
        }
    }

    private func read(_ calls: [BatchCall], _ addresses: BatchAddresses, _ ended: EndedCalls) async {
        for (index, call) in calls.enumerated() where call.method == "GET" {
            do throws(PorticoError) {
                await ended.add(index, await perform(call, try addresses.relative(call.url), records))
            } catch {
                await ended.add(index, failure(error))
            }
        }
    }

    private func outcome(
        _ calls: [BatchCall], _ group: String?, _ refused: [Int: PorticoError], _ ended: EndedCalls, isMade: Bool
    ) async -> (replies: [BatchReply], failed: Int?) {
        // What could not be begun is why the others were given up.
        var failed = refused.keys.min()
        if failed == nil { failed = await ended.firstFailure }
        var replies: [BatchReply] = []
        for (index, call) in calls.enumerated() {
            var answer = await ended.answers[index]
            if let error = refused[index] {
                answer = failure(error)
            }
            replies.append(BatchReply(id: call.id, group: group, answer: answer ?? BatchFailure.dependency))
        }
        // What was made is reported as made, whatever became of a read after it.
        guard let failed, !isMade else { return (replies, nil) }
        return (
            replies.enumerated().map { index, reply in
                index == failed
                    ? reply : BatchReply(id: reply.id, group: group, answer: BatchFailure.dependency)
            }, failed
        )
    }
}

/// Which requests of a change set have ended, and how.
private actor EndedCalls {
    private(set) var answers: [Int: MountResponse] = [:]
    /// The first that failed, in the order of time: those that fail later do so because of it.
    private(set) var firstFailure: Int?

    var hasFailed: Bool { firstFailure != nil }

    func add(_ index: Int, _ answer: MountResponse) {
        answers[index] = answer
        if answer.status >= 400, firstFailure == nil { firstFailure = index }
    }
}

extension BatchCall {
    func with(body: [UInt8]) -> BatchCall {
        BatchCall(id: id, method: method, url: url, headers: headers, body: body, needs: needs)
    }
}

/// Synchronises the requests of one change set: each runs until it writes and then waits. When all wait, their changes
/// are applied in one transaction and all resume.
///
/// Requests need not know that they are part of a change set. Later requests see what earlier ones create, and nothing
/// is written unless everything can be.
actor ChangeSetBarrier {
    private enum State {
        case collecting
        case decided(Result<WriteReceipt, PorticoError>)
    }

    private var state = State.collecting
    private var changes: [RecordChange] = []
    private var outlook = ChangeSetPreview()
    private var held: [CheckedContinuation<Void, Never>] = []
    private var inbound: [CheckedContinuation<Void, Never>] = []
    private var hasArrived = false

    /// Holds the changes until all are decided; gives what became of them. After that later changes of a request go by
    /// themselves: nil.
    func hold(_ more: [RecordChange]) async throws(PorticoError) -> WriteReceipt? {
        if case .decided(let result) = state {
            // Who tries again after a failure must not write alone what was to happen together.
            _ = try result.get()
            return nil
        }
        let range = changes.count..<(changes.count + more.count)
        changes += more
        for change in more { outlook.add(change) }
        arrive()
        await withCheckedContinuation { held.append($0) }
        guard case .decided(let result) = state else { return nil }
        let receipt = try result.get()
        return WriteReceipt(position: receipt.position, records: Array(receipt.records[range]))
    }

    /// Waits until the request that was let in holds or has ended.
    func waitForArrival() async {
        if !hasArrived { await withCheckedContinuation { inbound.append($0) } }
        hasArrived = false
    }

    /// The request holds changes, or has ended without.
    func arrive() {
        hasArrived = true
        let waiting = inbound
        inbound = []
        for one in waiting { one.resume() }
    }

    /// All changes in one transaction, or none of them; then all requests resume. Whether they were made.
    func commit(to records: any RecordStore) async -> Bool {
        let result: Result<WriteReceipt, PorticoError>
        do {
            result = .success(
                changes.isEmpty
                    ? WriteReceipt(position: Revision(0), records: []) : try await records.apply(changes))
        } catch let error as PorticoError {
            result = .failure(error)
        } catch {
            result = .failure(PorticoError(.serverInternal, "The change set failed.", logDetail: "\(error)"))
        }
        decide(result)
        if case .success = result { return true }
        return false
    }

    func abandon() {
        decide(.failure(PorticoError(.requestInvalid, "Another request of the change set failed.")))
    }

    private func decide(_ result: Result<WriteReceipt, PorticoError>) {
        state = .decided(result)
        let waiting = held
        held = []
        for one in waiting { one.resume() }
    }

    // MARK: What is held

    /// A record as the change set leaves it, of what is there now.
    func record(_ id: RecordID, in entity: EntityName, _ current: Record?) -> Record? {
        guard case .collecting = state else { return current }
        return outlook.record(id, in: entity, current)
    }

    func has(_ id: RecordID, in entity: EntityName) -> Bool { outlook.has(id, in: entity) }

    /// The first record of an entity that was created since so many changes.
    func created(in entity: EntityName, since count: Int) -> (RecordID, WireDictionary)? {
        for change in changes.dropFirst(count) where change.entity == entity {
            if case .create(let id?, let fields) = change.action { return (id, fields) }
        }
        return nil
    }

    var count: Int { changes.count }
}

/// The records as they will be after the changes of a change set, before these are written.
struct ChangeSetPreview: Sendable {
    private enum State {
        /// Made by the change set, with these fields.
        case created(WireDictionary)
        /// There before, these fields are set.
        case changed(WireDictionary)
        case deleted
    }

    private var states: [EntityName: [RecordID: State]] = [:]

    mutating func add(_ change: RecordChange) {
        switch change.action {
        case .create(let id?, let fields), .replace(let id, let fields, _):
            states[change.entity, default: [:]][id] = .created(fields)
        case .create(nil, _): break
        case .update(let id, let fields):
            states[change.entity, default: [:]][id] = Self.setting(fields, in: states[change.entity]?[id])
        case .delete(let id): states[change.entity, default: [:]][id] = .deleted
        }
    }

    private static func setting(_ fields: WireDictionary, in state: State?) -> State {
        switch state {
        case .created(let earlier): .created(earlier.setting(fields))
        case .changed(let earlier): .changed(earlier.setting(fields))
        case .deleted, nil: .changed(fields)
        }
    }

    func has(_ id: RecordID, in entity: EntityName) -> Bool { states[entity]?[id] != nil }

    /// What a record that is this now, or is not there, will be.
    func record(_ id: RecordID, in entity: EntityName, _ current: Record?) -> Record? {
        switch states[entity]?[id] {
        case nil: current
        case .created(let fields): Record(id: id, revision: Revision(0), fields: fields)
        case .changed(let fields):
            current.map { Record(id: id, revision: $0.revision, fields: $0.fields.setting(fields)) }
        case .deleted: nil
        }
    }
}

extension WireDictionary {
    fileprivate func setting(_ members: WireDictionary) -> WireDictionary {
        var all = self
        for member in members { all[member.key] = member.value }
        return all
    }
}

/// The record store that one request of a change set uses: reads see the preview, writes wait for the barrier.
struct StagedRecords: RecordStore {
    let base: any RecordStore
    let stage: ChangeSetBarrier

    func record(_ id: RecordID, in entity: EntityName) async throws -> Record? {
        await stage.record(id, in: entity, try await base.record(id, in: entity))
    }

    func query(_ query: Query, in entity: EntityName) async throws -> RecordPage {
        try await base.query(query, in: entity)
    }

    func requireAccess(_ effect: Effect, to entities: Set<EntityName>) async throws {
        try await base.requireAccess(effect, to: entities)
    }

    func count(_ filter: Filter?, in entity: EntityName) async throws -> Int {
        try await base.count(filter, in: entity)
    }

    func apply(_ changes: [RecordChange]) async throws -> WriteReceipt {
        var free: [RecordChange] = []
        for change in changes { free.append(await unconditional(change)) }
        if let receipt = try await stage.hold(free) { return receipt }
        return try await base.apply(changes)
    }

    /// What the change set has made or changed has no revision that a client could have read.
    private func unconditional(_ change: RecordChange) async -> RecordChange {
        guard case .revision = change.condition else { return change }
        switch change.action {
        case .update(let id, _), .replace(let id, _, _), .delete(let id):
            return await stage.has(id, in: change.entity) ? RecordChange(change.entity, change.action) : change
        case .create: return change
        }
    }

    func withReadSnapshot<Result: Sendable>(
        _ body: @escaping @Sendable (any RecordSnapshot) throws -> Result
    ) async throws -> Result {
        try await base.withReadSnapshot(body)
    }
}
