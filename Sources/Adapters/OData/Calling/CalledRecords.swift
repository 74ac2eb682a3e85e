import AdapterKit
import ODataEngine
import ODataModel

/// The records of a request that changes an entity of a called set: the other system is asked for it and changes it.
///
/// One request makes one change, and returns when the other system has made it (`write: through`).
struct CalledRecords: ChangedElsewhere {
    let base: any RecordStore
    let sets: CalledSets
    let runner: QueryRunner
    let request: CalledRequest

    private func table(_ entity: EntityName) -> RecordTable? { sets.table(of: entity) }

    func record(_ id: RecordID, in entity: EntityName) async throws -> Record? {
        guard let table = table(entity) else { return try await base.record(id, in: entity) }
        return try await RecordFinder(tables: runner.tables, records: base, runner: runner)
            .record(EntityPath(table: table, type: table.type, origin: .key(id)))
    }

    func query(_ query: Query, in entity: EntityName) async throws -> RecordPage {
        guard let table = table(entity) else { return try await base.query(query, in: entity) }
        // The last key is asked for, to make the next one, which is not sent where the service makes keys.
        guard table.makesKeys(runner.tables.model) else {
            throw ODataError.notImplemented("A query of \(table.source) within a change")
        }
        return RecordPage(records: [], next: nil)
    }

    func count(_ filter: Filter?, in entity: EntityName) async throws -> Int {
        guard let table = table(entity) else { return try await base.count(filter, in: entity) }
        throw ODataError.notImplemented("Counting \(table.source) within a change")
    }

    func requireAccess(_ effect: Effect, to entities: Set<EntityName>) async throws {
        for entity in entities {
            if let table = table(entity) { try sets.authorize(table, request.caller, effect) }
        }
        try await base.requireAccess(effect, to: entities.filter { table($0) == nil })
    }

    func apply(_ changes: [RecordChange]) async throws -> WriteReceipt {
        guard let change = changes.first, let table = table(change.entity), changes.count == 1,
            !(base is StagedRecords)
        else {
            throw ODataError.notImplemented(
                "More than one change of entities of the system \(sets.upstream.name) at a time")
        }
        let record = try await sets.apply(change, in: table, base, for: request)
        return WriteReceipt(position: Revision(0), records: [record])
    }

    func withReadSnapshot<Result: Sendable>(
        _ body: @escaping @Sendable (any RecordSnapshot) throws -> Result
    ) async throws -> Result {
        try await base.withReadSnapshot(body)
    }

    func streamSnapshot(
        within time: Duration, _ body: @escaping @Sendable (any RecordSnapshot, any ChunkOutput) throws -> Void
    ) async throws -> any ByteStream {
        try await base.streamSnapshot(within: time, body)
    }
}

extension CalledSets {
    func records(over base: any RecordStore, _ runner: QueryRunner, for request: CalledRequest) -> any ChangedElsewhere
    {
        CalledRecords(base: base, sets: self, runner: runner, request: request)
    }

    func table(of entity: EntityName) -> RecordTable? {
        service.tables.tables.values.first { $0.entity == entity && isCalled($0) }
    }

    func authorize(_ table: RecordTable, _ caller: Principal, _ effect: Effect) throws {
        try service.rights[table.source].authorize(caller, effect: effect)
    }

    /// Makes one change. Returns what the other system has of the entity as far as it says so.
    func apply(
        _ change: RecordChange, in table: RecordTable, _ records: any RecordStore, for request: CalledRequest
    ) async throws -> Record? {
        try authorize(table, request.caller, .writes)
        try checkWritten(table)
        let sent = try Self.change(change)
        let owner = request.owner
        let session =
            exchange.called.actsForCallers
            ? callersSessions.session(EntityExchange(exchange.called, upstream, for: request.caller), of: owner)
            : session
        let source = SetSource(
            table, of: service, in: upstream, session: session, records: records, clock: clock)
        let result: MirrorWriteResult
        do {
            result = try await source.write(sent) { tag in
                guard case .revision(let revision) = change.condition, let tag else { return true }
                return EntityTag.number(tag) == revision.number
            }
        } catch let failure as UpstreamFailure where failure.kind == .signInRequired {
            forget(owner)
            throw failure.asError
        } catch {
            result = MirrorWriteResult(error)
        }
        // Whatever became of it: what was read before may be as it was no longer.
        answers.removeAll()
        switch result {
        case .stored(let row):
            guard sent.operation != .delete else { return nil }
            let fields = row ?? sent.fields
            let id = row.flatMap { rows(of: table).id(of: $0) } ?? sent.id
            guard row != nil || sent.fields[table.keyField.text] != nil || sent.operation != .create else {
                throw outcomeUnknown("the answer does not say which key the new entity has")
            }
            return Record(id: id, revision: Revision(0), fields: fields)
        case .refused(let code, let message):
            throw PorticoError(code, message)
        case .notMade(let detail):
            throw PorticoError(
                .upstreamFailed, "The system \(upstream.name) could not be asked for the change: it was not made.",
                logDetail: detail)
        case .unknown(let detail):
            throw outcomeUnknown(detail)
        }
    }

    private func outcomeUnknown(_ detail: String) -> PorticoError {
        PorticoError(
            .upstreamOutcomeUnknown, "It is unknown whether the system \(upstream.name) has made the change.",
            logDetail: detail)
    }

    private static func change(_ change: RecordChange) throws -> MirrorChange {
        func made(
            _ id: RecordID, _ kind: MirrorChange.Kind, _ fields: WireDictionary, before: WireDictionary? = nil
        ) -> MirrorChange {
            MirrorChange(
                change.entity, id, kind, fields: fields, before: before, idempotencyKey: RandomGUID.next(),
                mayRepeat: false)
        }
        switch change.action {
        case .create(let id?, let fields): return made(id, .create, fields)
        case .update(let id, let fields): return made(id, .update, fields)
        case .replace(let id, let fields, _): return made(id, .replace, fields, before: [:])
        case .delete(let id): return made(id, .delete, [:])
        case .create(nil, _): throw PorticoError(.requestInvalid, "The key is missing.")
        }
    }
}
