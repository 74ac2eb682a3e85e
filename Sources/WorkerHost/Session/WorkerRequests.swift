import AdapterKit
import AdapterProtocol
import Synchronization

/// Answers what a worker asks in the course of one call, or on its adapter's own behalf.
struct WorkerRequests: Sendable {
    let scope: CallScope
    let context: AdapterContext
    let connection: MessageConnection
    let snapshots: SnapshotHandles
    let bodies: HeldBytes
    let limits: SessionLimits

    func respond(to request: Message.Request) async throws -> WireValue {
        let map = try MessageMap(.dictionary(request.parameters))
        if let reads = scope.ruleReads { return try await read(request.method, map, for: reads) }
        switch request.method {
        case RequestMethod.record:
            return try await records(map).record(try map("id"), in: try map("entity")).message
        case RequestMethod.query:
            return try await records(map).query(try map("query"), in: try map("entity")).message
        case RequestMethod.count:
            return try await records(map).count(try map.optional("filter"), in: try map("entity")).message
        case RequestMethod.requireAccess:
            try await records(map).requireAccess(try map("effect"), to: try map("entities"))
            return .null
        case RequestMethod.apply: return try await records(map).apply(try map("changes")).message
        case RequestMethod.openSnapshot:
            let opened = try await snapshots.open(
                try records(map), within: try map.optional("within"), isOfCaller: map.members["as"] != nil,
                in: scope.snapshots)
            return ["snapshot": opened.number.message, "position": opened.position.message]
        case RequestMethod.readSnapshot: return try await snapshots.read(try map("snapshot"), map)
        case RequestMethod.closeSnapshot:
            snapshots.close(try map("snapshot"))
            return .null
        case RequestMethod.account: return try await context.accounts.account(named: try map("name")).message
        case RequestMethod.accounts:
            return try await context.accounts.accounts(after: try map.optional("after"), limit: try limit(map)).message
        case RequestMethod.hasSession:
            return try await context.accounts.hasSession(try map("session"), of: try map("account")).message
        case RequestMethod.listeners:
            return context.live.listeners(in: try map("group"), of: try map("feed"), limit: try limit(map)).message
        case RequestMethod.push: return await context.push.send(try map("note"), to: try map("device")).message
        case RequestMethod.changePosition: return context.changeFeed.position.message
        case RequestMethod.created:
            return try await context.changeFeed.created(in: try map("entity"), after: try map("after")).message
        case RequestMethod.age: return try await scope.ages?.age(of: try map("entities")).message ?? .null
        case RequestMethod.upstream: return try await upstream(map)
        case RequestMethod.serviceEntity: return try service.entity(of: try map("set")).message
        case RequestMethod.serviceField: return try service.field(try map("property"), of: try map("set")).message
        case RequestMethod.reseed:
            try await service.reseed()
            return .null
        default:
            throw PorticoError(
                .adapterUnavailable, "The gateway does not know the method of this request.",
                logDetail: "method \(request.method.prefix(100))")
        }
    }

    /// Rules read the transaction alone: the answer is checked by what they read, and may be asked for again.
    private func read(_ method: String, _ map: MessageMap, for reads: RuleReads) async throws -> WireValue {
        guard method == RequestMethod.readSnapshot, try map("snapshot") == RuleReads.snapshot else {
            throw PorticoError(
                .accessDenied, "Rules read the snapshot of their question, and do nothing else.",
                logDetail: "method \(method.prefix(100))")
        }
        // The number says nothing about what is read.
        let parameters = map.members.entries.filter { $0.key != "snapshot" }
        return try await reads.read(WireDictionary(uncheckedUniqueKeys: parameters), from: context.records)
    }

    /// The adapter's own, or those of the caller in the course of whose call it is asked.
    private func records(_ map: MessageMap) throws -> any RecordStore {
        switch try map.optional("as", as: String.self) {
        case nil: return context.records
        case "caller":
            guard let records = scope.records else {
                throw PorticoError(.adapterUnavailable, "There is no caller whose records could be read.")
            }
            return records
        default: throw MessageError("there is no such case here", at: "as")
        }
    }

    private func limit(_ map: MessageMap) throws -> Int {
        let limit: Int = try map("limit")
        guard (0...10_000).contains(limit) else { throw PorticoError(.requestInvalid, "A limit is from 0 to 10000.") }
        return limit
    }

    private var service: any ServiceRecords {
        get throws {
            guard let service = scope.service else {
                throw PorticoError(.adapterUnavailable, "There is no service whose operation is performed.")
            }
            return service
        }
    }

    private func upstream(_ map: MessageMap) async throws -> WireValue {
        let name: UpstreamName = try map("upstream")
        var request = try UpstreamRequest(map)
        let body: MessageBody = try map("body")
        let (isStreamed, isWhole): (Bool, Bool) = (try map("isStreamed", default: false), try map("whole"))
        guard let upstream = context.upstreams[name] else {
            throw UpstreamFailure(.destinationRefused, of: name, detail: "the adapter's options do not name it")
        }
        let caller = try caller(map, of: upstream)
        // Before anything is done.
        try bodies.add(0)
        if isStreamed, case .stream(let number) = body.content {
            request.streamedBody = try connection.body(of: number)
        } else {
            let held = Mutex(0)
            defer { bodies.remove(held.withLock { $0 }) }
            request.body = try await body.collected(over: connection, limit: limits.body) { count in
                try bodies.add(count)
                held.withLock { $0 += count }
            }
            return try await send(request, for: caller, to: upstream, isWhole: isWhole)
        }
        return try await send(request, for: caller, to: upstream, isWhole: isWhole)
    }

    private func send(
        _ request: UpstreamRequest, for caller: Principal?, to upstream: any Upstream, isWhole: Bool
    ) async throws -> WireValue {
        do {
            guard isWhole else {
                let response = try await upstream.stream(request, for: caller)
                return try head(
                    response.address, response.status, response.fields,
                    MessageBody(.stream(connection.send(response.body))))
            }
            let response = try await upstream.send(request, for: caller)
            // The call was made, so its answer is not refused.
            let (bodies, count) = (bodies, response.body.count)
            bodies.hold(count)
            return try head(
                response.address, response.status, response.fields,
                .sending(response.body, over: connection) { bodies.remove(count) })
        } catch {
            // Where it failed before the body was sent, its sender does not know that it is not wanted.
            request.streamedBody?.cancel()
            throw error
        }
    }

    private func head(
        _ address: UpstreamAddress, _ status: Int, _ fields: UpstreamHeaders, _ body: MessageBody
    ) -> WireValue {
        ["address": address.message, "status": status.message, "fields": fields.message, "body": body.message]
    }

    /// A worker names the caller of the call at hand or none: it cannot use the credentials of another.
    private func caller(_ map: MessageMap, of upstream: any Upstream) throws -> Principal? {
        guard let id = try map.optional("caller", as: String.self) else { return nil }
        guard let caller = scope.caller, caller.id == id else {
            guard upstream.actsForCallers else { return nil }
            throw UpstreamFailure(
                .signInRequired, of: upstream.name, detail: "the worker names a caller whose call it does not answer")
        }
        return caller
    }
}

extension Message.Request {
    /// Whether it asks for what only the call in whose course it is asked has: the rights of its caller, its service, the
    /// ages of its answer, the reads of its question.
    func isOfCall(with snapshots: SnapshotHandles) -> Bool {
        switch method {
        case RequestMethod.age, RequestMethod.serviceEntity, RequestMethod.serviceField, RequestMethod.reseed: true
        case RequestMethod.readSnapshot:
            parameters["snapshot"] == RuleReads.snapshot.message
                || (try? parameters["snapshot"].map { snapshots.isOfCaller(try Int(message: $0)) }) ?? false
        case RequestMethod.upstream: parameters["caller"].map { !$0.isNull } ?? false
        default: parameters["as"].map { !$0.isNull } ?? false
        }
    }
}
