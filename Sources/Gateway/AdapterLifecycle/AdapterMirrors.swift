import AdapterKit
import MirrorEngine
import RecordStorage
import Telemetry

/// The host's services for mirrors of adapters.
public struct MirrorSetup: Sendable {
    private let store: any MirrorStore
    private let states: [CollectionID: WireDictionary]
    private let clock: any WallClock
    /// Upstreams that are called in their callers' names.
    private let ofCallers: Set<UpstreamName>

    /// Reads what the store has of the mirrors that these collections are. `ofCallers`: the upstreams that are called in
    /// their callers' names.
    public init(
        _ collections: [CollectionID], in store: any MirrorStore, ofCallers: Set<UpstreamName> = [],
        clock: any WallClock
    ) async throws {
        self.store = store
        self.clock = clock
        self.ofCallers = ofCallers
        states = try await store.withReadSnapshot { snapshot in
            var states: [CollectionID: WireDictionary] = [:]
            for collection in collections { states[collection] = try snapshot.mirrorState(of: collection) }
            return states
        }
    }

    /// Callers' changes of the mirrors that can be changed.
    func writes(
        of declaration: AdapterDeclaration, adapter: AnsweringGeneration, slot: AdapterSlot, log: Log
    ) -> [MirrorWrites] {
        declaration.mirrors.compactMap { source in
            guard source.writing != .none, let entity = declaration.entity(source.entity) else { return nil }
            let collection = CollectionDeclaration(adapter: declaration.name, entity: entity)
            return MirrorWrites(
                source, of: collection, among: declaration.entities, in: store,
                protection: slot.protection(of: collection.id), clock: clock, log: log,
                captureContext: {
                    let captured = CapturedRequest()
                    return { try await captured.run($0) }
                },
                send: { try await adapter.running.writeMirror($0) },
                readBack: { id in try await adapter.read { try await $0.readMirror(source.entity, id) } })
        }
    }

    func mirrors(
        of declaration: AdapterDeclaration, adapter: AnsweringGeneration, writes: [MirrorWrites], log: Log
    ) -> [Mirror] {
        declaration.mirrors.compactMap { source in
            guard source.callerKey == nil, let entity = declaration.entity(source.entity) else { return nil }
            let collection = CollectionDeclaration(adapter: declaration.name, entity: entity)
            return Mirror(
                source, of: collection, stored: states[collection.id], in: store,
                writes: writes.first { $0.id == collection.id }, clock: clock, log: log,
                read: { request in try await adapter.read { try await $0.readMirror(request) } })
        }
    }
}

extension MirrorSetup {
    /// The mirrors whose rows belong to single callers.
    func callerMirrors(
        of declaration: AdapterDeclaration, adapter: AnsweringGeneration, log: Log
    ) -> [AdapterCallerMirror] {
        declaration.mirrors.compactMap { source in
            guard source.callerKey != nil, let entity = declaration.entity(source.entity) else { return nil }
            let mirror = CallerMirror(
                source, of: CollectionDeclaration(adapter: declaration.name, entity: entity), in: store, clock: clock,
                log: log,
                read: { request in try await adapter.read { try await $0.readMirror(request) } })
            return AdapterCallerMirror(mirror: mirror, owners: AnswerOwners(mirror.calls) { mirror.forget($0) })
        }
    }

    func callsThrough(of declaration: AdapterDeclaration, log: Log) -> [AdapterCallThrough] {
        declaration.operations.compactMap { operation in
            operation.callThrough.map { settings in
                let calls = CallThroughCalls(operation.name, settings, clock: clock, log: log)
                return AdapterCallThrough(
                    calls: calls, owners: ofCallers.contains(settings.upstream) ? AnswerOwners(calls) : nil)
            }
        }
    }
}

extension AdapterParts {
    /// Refreshes the mirrors until the task is cancelled.
    func keepMirrors() async {
        await withTaskGroup(of: Void.self) { group in
            for mirror in mirrors { group.addTask { await mirror.run() } }
        }
    }

    /// Makes the calls of other systems that answer the adapter's operations, until the task is cancelled.
    func keepCalls() async {
        await withTaskGroup(of: Void.self) { group in
            for callThrough in callsThrough { group.addTask { await callThrough.calls.run() } }
            for owners in callsThrough.compactMap(\.owners) { group.addTask { await owners.run() } }
        }
    }

    /// Sends what callers change of the mirrors, and fetches and removes rows that belong to single callers, until the task
    /// is cancelled.
    func keepRowsOfCallers() async {
        await withTaskGroup(of: Void.self) { group in
            for callerMirror in callerMirrors {
                group.addTask { await callerMirror.mirror.run() }
                group.addTask { await callerMirror.owners.run() }
            }
            for write in writes { group.addTask { await write.run() } }
        }
    }

    /// Sends nothing more of what callers change, and returns when what is being sent has ended, or after `limit`.
    func finishWrites(within limit: Duration) async {
        await withTaskGroup(of: Void.self) { group in
            for write in writes { group.addTask { await write.finish(within: limit) } }
        }
    }
}

extension ServedAdapter {
    var mirrors: [ServedMirror] { parts.mirrors.map { ServedMirror($0, in: slot) } }
    var callerMirrors: [AdapterCallerMirror] { parts.callerMirrors }
    var callsThrough: [AdapterCallThrough] { parts.callsThrough }
    var writes: [MirrorWrites] { parts.writes }

    func callThrough(_ operation: OperationName) -> AdapterCallThrough? {
        callsThrough.first { $0.calls.operation == operation }
    }

    /// The mirrors of these entities; nil: all.
    func mirrors(of entities: Set<EntityName>?) -> ReadMirrors {
        ReadMirrors(
            shared: mirrors.filter { entities?.contains($0.source.entity) ?? true },
            ofCallers: callerMirrors.filter { entities?.contains($0.mirror.source.entity) ?? true },
            ofRecords: mirrors.filter { mirror in
                mirror.source.derivedEntity.map { entities?.contains($0) ?? false } ?? false
            })
    }

    /// The mirrors that an operation's answers are made of.
    func mirrors(of operation: Operation) -> ReadMirrors {
        guard operation.effect == .reads, operation.audience == .callers else { return ReadMirrors() }
        return mirrors(of: operation.entities.map { Set($0) })
    }
}

/// A mirror of an adapter: the one of its entity that is refreshed now, whichever generation began it.
struct ServedMirror: Sendable {
    private let own: Mirror
    private let slot: AdapterSlot

    init(_ own: Mirror, in slot: AdapterSlot) { (self.own, self.slot) = (own, slot) }

    var id: CollectionID { own.id }
    /// As this generation declares it.
    var source: MirrorSource { own.source }
    var status: MirrorStatus { current.status }
    var hasRows: Bool { current.hasRows }

    private var current: Mirror { slot.parts?.mirrors.first { $0.id == id } ?? own }

    func freshAge() -> MirrorAge? { current.freshAge() }

    func ask(by trigger: RefreshTrigger) { current.ask(by: trigger) }

    func read() async throws(PorticoError) -> MirrorAge {
        try await asking { mirror async throws(PorticoError) in try await mirror.read() }
    }

    func refreshNow(by trigger: RefreshTrigger, isWhole: Bool) async throws(PorticoError) -> RefreshOutcome {
        try await asking { mirror async throws(PorticoError) in
            await mirror.refreshNow(by: trigger, isWhole: isWhole)
        }
    }

    func release() async throws(PorticoError) -> RefreshSummary {
        try await asking { mirror async throws(PorticoError) in try await mirror.release() }
    }

    func preview(_ limit: Int) async throws -> ReplacementSample { try await current.preview(limit) }
    func previewDifference() async throws -> ReplacementDifference { try await current.previewDifference() }

    /// Asks the mirror, and the one that takes its place where that happens meanwhile.
    private func asking<Answer: Sendable>(
        _ body: (Mirror) async throws(PorticoError) -> Answer
    ) async throws(PorticoError) -> Answer {
        var mirror = current
        while true {
            let result: Result<Answer, PorticoError>
            do throws(PorticoError) { result = .success(try await body(mirror)) } catch { result = .failure(error) }
            let next = current
            guard mirror.isStopped, next !== mirror else { return try result.get() }
            mirror = next
        }
    }
}

/// A mirror whose rows belong to single callers, and the sign-ins that have rows.
struct AdapterCallerMirror: Sendable {
    let mirror: CallerMirror
    let owners: AnswerOwners

    /// As ``CallerMirror/read(for:signIn:)``; throws `auth.required` where the caller has not signed in, or not any more.
    func age(for caller: Caller, watchedBy credentials: CredentialWatch?) async throws -> MirrorAge {
        let signIn = try await signIn(of: caller, watchedBy: credentials)
        let age = try await mirror.read(for: caller.principal, signIn: signIn)
        // It may have ended meanwhile, or its watch with the last rows that were kept.
        _ = try await self.signIn(of: caller, watchedBy: credentials)
        return age
    }

    /// Has the caller's rows fetched where they are not fresh.
    func ask(for caller: Caller, watchedBy credentials: CredentialWatch?) async {
        // A caller without a sign-in has no rows.
        guard let signIn = try? await signIn(of: caller, watchedBy: credentials) else { return }
        mirror.ask(for: caller.principal, signIn: signIn)
    }

    private func signIn(of caller: Caller, watchedBy credentials: CredentialWatch?) async throws -> String {
        guard let authentication = caller.authentication, let credentials else {
            throw PorticoError(.loginRequired, "This needs a login.")
        }
        return try await owners.owner(authentication, watchedBy: credentials)
    }
}

/// The mirrors that a response is made of.
struct ReadMirrors: Sendable {
    var shared: [ServedMirror] = []
    var ofCallers: [AdapterCallerMirror] = []
    /// The mirrors of which single records are made (``MirrorSource/derivedEntity``). One that was never fetched has made none.
    var ofRecords: [ServedMirror] = []

    var isEmpty: Bool { shared.isEmpty && ofCallers.isEmpty && ofRecords.isEmpty }

    /// The mirrors of one record alone.
    func of(_ record: RecordID) -> ReadMirrors {
        ReadMirrors(
            shared: shared, ofCallers: ofCallers, ofRecords: ofRecords.filter { $0.source.entity.text == record.text })
    }

    private var read: [ServedMirror] { ofRecords.isEmpty ? shared : shared + ofRecords.filter(\.hasRows) }

    /// The one of an entity, which a caller has named.
    func of(_ entity: String) -> ReadMirrors {
        ReadMirrors(
            shared: shared.filter { $0.source.entity.text == entity },
            ofCallers: ofCallers.filter { $0.mirror.source.entity.text == entity })
    }

    /// The age of the oldest, where all are fresh for every caller; nil where a read has to ask (``age(for:watchedBy:)``).
    func freshAge() -> MirrorAge? {
        guard ofCallers.isEmpty else { return nil }
        var oldest: MirrorAge?
        for mirror in read {
            guard let age = mirror.freshAge() else { return nil }
            oldest = age.older(than: oldest)
        }
        return oldest
    }

    /// The age of the oldest, once those that are not fresh have been refreshed or waited for. Throws as ``Mirror/read()``
    /// does; nil: there are none.
    func age(for caller: Caller, watchedBy credentials: CredentialWatch?) async throws -> MirrorAge? {
        let read = read
        var oldest = read.count == 1 ? try await read[0].read() : try await Self.age(read)
        for mirror in ofCallers {
            oldest = try await mirror.age(for: caller, watchedBy: credentials).older(than: oldest)
        }
        return oldest
    }

    private static func age(_ mirrors: [ServedMirror]) async throws -> MirrorAge? {
        try await withThrowingTaskGroup(of: MirrorAge.self) { group in
            for mirror in mirrors { group.addTask { try await mirror.read() } }
            var oldest: MirrorAge?
            for try await age in group { oldest = age.older(than: oldest) }
            return oldest
        }
    }
}

extension MirrorAge {
    fileprivate func older(than other: MirrorAge?) -> MirrorAge {
        guard let other, other.asOf.secondsSinceReferenceDate <= asOf.secondsSinceReferenceDate else { return self }
        return other
    }
}

/// The ages of an adapter's mirrored records, for its mounts.
struct AdapterRecordAges: RecordAges {
    let served: ServedAdapter
    let caller: Caller
    let credentials: CredentialWatch?

    func age(of entities: Set<EntityName>) async throws -> RecordAge? {
        let read = served.mirrors(of: entities)
        guard !read.isEmpty else { return nil }
        if let age = read.freshAge() { return age.recordAge }
        return try await read.age(for: caller, watchedBy: credentials)?.recordAge
    }
}

/// Changes of mirrors that are made in other systems while their callers wait.
struct AdapterWriteThrough: WriteThrough {
    let writes: [MirrorWrites]

    func write(
        _ mirror: CollectionID, _ propose: @escaping @Sendable (any StoreTransaction) throws -> RecordID
    ) async throws -> WriteReceipt {
        guard let writes = writes.first(where: { $0.id == mirror }) else {
            throw PorticoError(.adapterUnavailable, "Changes of \(mirror) cannot be sent.")
        }
        return try await RequestTimeline.measure(.mirrors, "mirror write") {
            try await writes.write(mirror, propose)
        }
    }
}

/// The host's own part of what is served: what it keeps for callers, without an operation.
struct HostAdapter: Adapter {
    func handle(_ call: Call) async throws -> OperationResult {
        throw PorticoError(.routeNotFound, "There is no such operation.", target: call.operation.text)
    }
}

extension ServedAdapter {
    /// Serves the records of pending writes. Needed where a mirror can be written.
    public static func pendingWrites(log: Log) -> ServedAdapter {
        ServedAdapter(declaration: PendingWriteRecords.declaration, adapter: HostAdapter(), log: log)
    }
}
