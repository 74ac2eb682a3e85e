import AdapterKit
import ODataAddresses
import ODataRecords

/// Where the requests of a batch go: a service in one version of the protocol.
protocol BatchTarget: Sendable {
    /// Header fields of the batch that its requests have too.
    static var inheritedFields: [String] { get }

    /// One request as if it had come alone.
    func answer(_ request: MountRequest) async throws -> MountResponse
    /// A failure in the version's own shape.
    func failure(_ error: any Error, of request: MountRequest) -> MountResponse
    /// What an address below the root leads to; nil where it leads nowhere.
    func address(_ target: String) -> Address?
    /// An entity's address below the root, by its record's fields.
    func path(_ fields: WireDictionary, in table: RecordTable) -> String
}

/// Makes the requests of a batch one after the other, each as if it had come alone, change sets as one transaction.
struct BatchRun: Sendable {
    let mount: any BatchTarget
    let request: MountRequest
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
            for call in calls { run.ended(call.id, failed: failed != nil) }
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
        guard !target.hasPrefix("$batch") else {
            return mount.failure(PorticoError(.requestInvalid, "A batch has no batches in it."), of: request)
        }
        var headers = call.headers
        for name in type(of: mount).inheritedFields where headers[name] == nil {
            headers[name] = request.headers[name]
        }
        let path = request.target.prefix { $0 != "?" }
        let base = path.dropLast("$batch".count)
        let inner = MountRequest(
            mount: request.mount, method: call.method, target: base + target, origin: request.origin, headers: headers,
            body: call.body, caller: request.caller, requestID: request.requestID, deadline: request.deadline,
            records: records, log: request.log)
        do {
            return try await mount.answer(inner)
        } catch {
            return mount.failure(error, of: inner)
        }
    }

    /// What fails while its body is gathered is a failure.
    private func gathered(_ answer: MountResponse) async -> MountResponse {
        do { return try await answer.gathered(upTo: most) } catch { return mount.failure(error, of: request) }
    }

    /// The same with the whole bodies at hand; only a call by itself may have one that is not.
    func gathered(_ outcome: BatchOutcome) async -> BatchOutcome {
        guard case .reply(let reply) = outcome else { return outcome }
        return .reply(BatchReply(id: reply.id, group: reply.group, answer: await gathered(reply.answer)))
    }

    /// The address of what a request has just created in the set that it addresses.
    private func created(_ target: String, _ stage: ChangeSetBarrier, _ before: Int) async -> String? {
        guard let address = mount.address(target) else { return nil }
        guard case .entities(let place) = address.target,
            let (_, fields) = await stage.created(in: place.table.entity, since: before)
        else { return target }
        return mount.path(fields, in: place.table)
    }
}

extension MountResponse {
    /// The same with the whole body at hand.
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
