import AdapterKit
import ODataLanguage
import ODataRecords

/// Answers `$batch` (Protocol 4.01, section 11.7): its requests one after the other, each as if it had come alone, change
/// sets as one transaction.
struct BatchDesk: Sendable {
    let service: ODataService
    let request: DoorRequest
    /// `https://host/odata/v4/service/`
    let root: String
    let version: String

    func answer() async throws -> DoorAnswer {
        guard request.method == "POST" else {
            throw ODataError.methodNotAllowed("A batch is sent with POST.", allowed: "POST")
        }
        let type = (request.headers["Content-Type"] ?? "").lowercased()
        if type.hasPrefix("multipart/mixed") {
            let steps = try MultipartReader(request.body).steps(contentType: request.headers["Content-Type"] ?? "")
            return MultipartWriter.answer(await outcomes(steps, fillsUp: false), token: token, version: version)
        }
        guard type.hasPrefix("application/json") else {
            throw PorticoError(.unsupportedMediaType, "A batch is multipart/mixed or application/json.")
        }
        guard version != "4.0" else {
            throw PorticoError(.requestInvalid, "Batches in JSON came with OData 4.01.", target: "OData-MaxVersion")
        }
        return JSONBatchWriter.answer(await outcomes(try JSONBatchReader(bytes: request.body).steps(), fillsUp: true))
    }

    /// Random, so that no body holds a boundary made of it but by intent, and then nobody else's.
    private var token: String { String(UInt64.random(in: .min ... .max), radix: 36) }

    /// Stops at the first failure, unless the caller prefers to go on. JSON has an answer for each request all the same.
    private func outcomes(_ steps: [BatchStep], fillsUp: Bool) async -> [BatchOutcome] {
        let goesOn = Preferences(request.headers["Prefer"]).continuesOnError
        var run = BatchProgress(addresses: BatchAddresses(root: root))
        var outcomes: [BatchOutcome] = []
        for step in steps {
            if run.hasFailed && !goesOn {
                guard fillsUp else { break }
                outcomes.append(BatchProgress.skipped(step))
                continue
            }
            outcomes.append(await outcome(of: step, &run))
        }
        return outcomes
    }

    private func outcome(of step: BatchStep, _ run: inout BatchProgress) async -> BatchOutcome {
        switch step {
        case .call(let call):
            guard run.canRun(call) else { return run.failing(step) }
            let answer = await answer(call, &run.addresses)
            run.ended(call.id, failed: answer.status >= 400)
            return .reply(BatchReply(id: call.id, answer: answer))
        case .changeSet(let group, let calls):
            guard calls.allSatisfy(run.canRun) else { return run.failing(step) }
            let set = ChangeSetRun(
                records: request.records, perform: { call, target, records in await perform(call, target, records) },
                address: { target, stage, before in await created(target, stage, before) })
            let (replies, failed) = await set.replies(calls, group: group, &run.addresses)
            for call in calls { run.ended(call.id, failed: failed != nil) }
            if let group { run.ended(group, failed: failed != nil) }
            return failed.map { .failedSet(replies, failed: $0) } ?? .changeSet(replies)
        }
    }

    private func answer(_ call: BatchCall, _ addresses: inout BatchAddresses) async -> DoorAnswer {
        do throws(PorticoError) {
            let target = try addresses.relative(call.url)
            let answer = await perform(call.with(body: addresses.resolved(call.body)), target, request.records)
            addresses.remember(call.id, answer.headers["Location"] ?? (call.method == "POST" ? nil : target))
            return answer
        } catch {
            return BatchFailure.answer(error, requestID: request.requestID)
        }
    }

    /// One request as if it had come alone, by the same caller.
    private func perform(_ call: BatchCall, _ target: String, _ records: any RecordStore) async -> DoorAnswer {
        guard !target.hasPrefix("$batch") else {
            return BatchFailure.answer(PorticoError(.requestInvalid, "A batch has no batches in it."))
        }
        var headers = call.headers
        for name in ["OData-MaxVersion", "OData-Version"] where headers[name] == nil {
            headers[name] = request.headers[name]
        }
        let path = request.target.prefix { $0 != "?" }
        let base = path.dropLast("$batch".count)
        let inner = DoorRequest(
            door: request.door, method: call.method, target: base + target, origin: request.origin, headers: headers,
            body: call.body, caller: request.caller, requestID: request.requestID, deadline: request.deadline,
            records: records, log: request.log)
        do {
            return try await service.answer(inner).gathered()
        } catch {
            return BatchFailure.answer(error, requestID: request.requestID)
        }
    }

    /// The address of what a request has just created in the set that it addresses.
    private func created(_ target: String, _ stage: ChangeSetStage, _ before: Int) async -> String? {
        guard let parsed = try? TargetReader.target(target), case .path(let segments) = parsed.resource,
            let address = try? AddressReader(tables: service.tables, options: parsed.options).address(segments)
        else { return nil }
        guard case .entities(let place) = address.target,
            let (_, fields) = await stage.created(in: place.table.entity, since: before)
        else { return target }
        return place.table.source + place.table.keyPredicate(fields, model: service.tables.model)
    }
}

/// How far a batch has come: what was created, and what has failed.
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

extension DoorAnswer {
    /// The same with the whole body at hand.
    func gathered() async throws -> DoorAnswer {
        guard case .pieces(let pieces) = body else { return self }
        defer { pieces.end() }
        var bytes: [UInt8] = []
        while let piece = try await pieces.next() { bytes += piece }
        return DoorAnswer(status, headers: headers, body: bytes)
    }
}
