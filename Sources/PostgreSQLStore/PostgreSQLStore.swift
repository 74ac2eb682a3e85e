import AdapterKit
import Admission
import Foundation
import RecordStorage
import Synchronization

/// Every adapter's records in one schema of a PostgreSQL database.
///
/// Reads run on threads with a connection each, in a snapshot; writes gather in group commits on one more connection,
/// which take the row `portico_sequence` before they read and hold it until they are durable.
public final class PostgreSQLStore: Store {
    public let epoch: Epoch
    private let state: StoreState
    private let connector: Connector
    private let readers: ConnectionPool
    private let writer: Writer
    private let group: GroupCommit
    private let shared: SharedPosition
    private let deadline: Duration

    /// Connects, checks the server, and makes the host's tables where there are none. Throws ``PorticoError``, its message
    /// one line that says what to do.
    public static func open(_ settings: PostgreSQLStoreSettings) async throws -> PostgreSQLStore {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(
                    with: Result { try PostgreSQLStore(settings) }.mapError { PorticoError.wrapping($0) as any Error })
            }
        }
    }

    private init(_ settings: PostgreSQLStoreSettings) throws {
        let parameters = try settings.parameters()
        let first = try Connection(parameters, until: .now + .seconds(10))
        let sequence = try HostSchema.prepare(first, schema: settings.schema) {
            Epoch(Hexadecimal.uuid((0..<16).map { _ in UInt8.random(in: .min ... .max) }))
        }
        epoch = sequence.epoch
        let state = StoreState(sequence)
        self.state = state
        let connector = Connector { deadline in
            let connection = try Connection(parameters, until: deadline)
            try state.checkHistory(on: connection)
            return connection
        }
        self.connector = connector
        deadline = settings.deadline
        readers = ConnectionPool(
            threads: max(1, settings.connections - 1), limit: 4_096, name: "postgresql read", connector)
        group = GroupCommit(state, clock: settings.clock, ids: settings.ids, deadline: settings.deadline)
        writer = Writer(
            limits: settings.queue, pool: ConnectionPool(threads: 1, limit: 4_096, name: "postgresql write", connector),
            commit: group)
        shared = SharedPosition()
    }

    /// Round trips of group commits for reads that no caller had declared, since the store was opened.
    public var undeclaredReads: Int { state.undeclared }

    public func close() async {
        state.close()
        await writer.close()
        await readers.close()
    }
}

extension PostgreSQLStore {
    public func install(_ collections: [CollectionDeclaration]) async throws {
        let (state, group) = (state, group)
        try await writer.run { slot in
            do {
                let transaction = try group.begin([], on: slot.connection(), changesTables: true)
                try Self.install(collections, transaction, state, group, slot)
            } catch {
                slot.note(error)
                throw translated(error)
            }
        }
    }

    private static func install(
        _ collections: [CollectionDeclaration], _ transaction: GroupTransaction, _ state: StoreState,
        _ group: GroupCommit, _ slot: ConnectionSlot
    ) throws {
        do {
            var installer = SchemaInstaller(try transaction.rows(SchemaInstaller.registry))
            try installer.install(collections)
            guard !installer.statements.isEmpty || !installer.fillings.isEmpty else {
                group.rollBack(transaction.connection)
                return state.install(installer.layouts, generation: transaction.sequence.generation)
            }
            _ = try transaction.rows(installer.statements, once: true)
            for (layout, fillings) in installer.fillings { try transaction.fill(fillings, in: layout) }
            transaction.renewGeneration()
            try group.finish(transaction, on: slot)
            state.install(installer.layouts, generation: transaction.sequence.generation)
        } catch {
            group.rollBack(transaction.connection)
            throw error
        }
    }

    public func record(_ id: RecordID, in collection: CollectionID, visible: Filter?) async throws -> Record? {
        try await withReadSnapshot(expecting: [.record(id, in: collection)]) {
            try $0.record(id, in: collection, visible: visible)
        }
    }

    public func query(_ query: Query, in collection: CollectionID) async throws -> RecordPage {
        try await withReadSnapshot(expecting: [.query(query, in: collection)]) { try $0.query(query, in: collection) }
    }

    public func query(_ query: Query, in collection: CollectionID, atMost bytes: Int) async throws -> RecordPage {
        try await withReadSnapshot(expecting: [.query(query, in: collection)]) {
            try $0.query(query, in: collection, atMost: bytes)
        }
    }

    public func count(_ filter: Filter?, in collection: CollectionID) async throws -> Int {
        try await withReadSnapshot(expecting: [.count(filter, in: collection)]) { try $0.count(filter, in: collection) }
    }

    public func changes(after position: Revision, limit: Int) async throws -> [LogEntry] {
        try await withReadSnapshot(expecting: [.changes(after: position, limit: limit)]) {
            try $0.changes(after: position, limit: limit)
        }
    }

    public func withReadSnapshot<Result: Sendable>(
        expecting reads: [StoreRead], _ body: @escaping @Sendable (any StoreSnapshot) throws -> Result
    ) async throws -> Result {
        let (state, deadline) = (state, deadline)
        let isCancelled = Flag()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                do throws(PorticoError) {
                    try readers.submit { slot in
                        let limits = Connection.WaitLimits(
                            deadline: .now + deadline, isAbandoned: { isCancelled.isSet })
                        continuation.resume(
                            with: Swift.Result { try Self.read(reads, body, limits, state, on: slot) }
                                .mapError(translated))
                    }
                } catch {
                    continuation.resume(throwing: error)
                }
            }
        } onCancel: {
            isCancelled.set()
        }
    }

    /// Once more where the connection was lost.
    private static func read<Result>(
        _ reads: [StoreRead], _ body: (any StoreSnapshot) throws -> Result, _ limits: Connection.WaitLimits,
        _ state: StoreState, on slot: ConnectionSlot
    ) throws -> Result {
        do {
            return try readOnce(reads, body, limits, state, on: slot)
        } catch let failure as PostgreSQLFailure where failure.endsConnection || failure.isReadOnlyServer {
            if limits.isAbandoned() { throw CancellationError() }
            return try readOnce(reads, body, limits, state, on: slot)
        } catch let failure as PostgreSQLFailure where failure.isCancelled && limits.isAbandoned() {
            throw CancellationError()
        }
    }

    private static func readOnce<Result>(
        _ reads: [StoreRead], _ body: (any StoreSnapshot) throws -> Result, _ limits: Connection.WaitLimits,
        _ state: StoreState, on slot: ConnectionSlot
    ) throws -> Result {
        let catalogue = try state.openCatalogue()
        if limits.isAbandoned() { throw CancellationError() }
        let connection = try slot.connection()
        defer {
            if !connection.isBroken {
                try? connection.send("COMMIT")
                try? connection.synchronizeLater()
            }
        }
        do {
            let fetch = try Fetch(reads, catalogue, changesRecords: false)
            try connection.send("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            try connection.send(Sequence.selection)
            try fetch.send(on: connection)
            let rows = try connection.synchronize(limits)
            let sequence = try Sequence(rows[1])
            try state.check(sequence, catalogue)
            state.advance(to: sequence)
            let snapshot = SnapshotReads(connection, catalogue, limits, sequence)
            try fetch.receive(rows.suffix(fetch.count), into: snapshot)
            return try body(snapshot)
        } catch {
            slot.note(error)
            throw error
        }
    }

    /// The records that the steps name are read with the order.
    public func write(_ transaction: WriteTransaction) async throws -> WriteReceipt {
        let reads = transaction.steps.compactMap { step -> StoreRead? in
            switch step.change.action {
            case .create(let id, _): id.map { .record($0, in: step.collection) }
            case .update(let id, _), .replace(let id, _, _), .delete(let id): .record(id, in: step.collection)
            }
        }
        return try await transact(weight: transaction.steps.count, expecting: reads) { try $0.apply(transaction) }
    }

    public func transact<Result: Sendable>(
        weight: Int, expecting reads: [StoreRead], _ body: @escaping @Sendable (any StoreTransaction) throws -> Result
    ) async throws -> Result {
        try await writer.write(weight: weight, expecting: reads) { try body($0) }
    }
}

extension PostgreSQLStore {
    public var position: Revision { Revision(state.sequence.position) }

    public var floor: Revision { Revision(state.sequence.floor) }

    public func position(of adapter: AdapterName) -> Revision { Revision(state.sequence.adapters[adapter] ?? 0) }

    /// Another node may have written.
    public func knownVersion(of adapter: AdapterName) -> RecordsVersion? { nil }

    /// Asks the database, together with all that ask meanwhile.
    public func currentVersion(of adapter: AdapterName) async throws -> RecordsVersion {
        try await shared.refresh { try await self.withReadSnapshot(expecting: []) { _ in } }
        return RecordsVersion(position(of: adapter))
    }

    public func observe<Observer: AnyObject & Sendable>(
        _ observer: Observer, _ body: @escaping @Sendable (Observer, Revision) -> Void
    ) { state.observe(observer, body) }
}

// Upkeep.
extension PostgreSQLStore {
    /// Rows that go in one transaction: some milliseconds.
    private static let rowsAtOnce = 2_000

    private static let outcomeCondition = """
        position <= ? AND sequence < (SELECT sequence FROM portico_client c WHERE c.client = portico_outcome.client)
        """

    public func compact(_ bound: CompactionBound, dryRun: Bool) async throws -> Compaction {
        let floor = try await target(of: bound)
        if dryRun {
            let counts = try await run([
                SQLFragment("SELECT count(*) FROM portico_log WHERE position <= ?", [.integer(floor)]),
                SQLFragment("SELECT count(*) FROM portico_outcome WHERE \(Self.outcomeCondition)", [.integer(floor)]),
            ])
            return Compaction(floor: Revision(floor), entries: counts[0], outcomes: counts[1])
        }
        _ = try await run([
            SQLFragment("UPDATE portico_sequence SET floor = greatest(floor, ?) RETURNING floor", [.integer(floor)])
        ])
        var known = state.sequence
        known.floor = max(known.floor, floor)
        state.advance(to: known)
        let entries = try await remove("portico_log", "position <= ?", [.integer(floor)])
        let outcomes = try await remove("portico_outcome", Self.outcomeCondition, [.integer(floor)])
        return Compaction(floor: Revision(floor), entries: entries, outcomes: outcomes)
    }

    private func target(of bound: CompactionBound) async throws -> Int64 {
        switch bound {
        case .through(let position):
            return try await run([
                SQLFragment(
                    "SELECT greatest(floor, least(position, ?)) FROM portico_sequence", [.integer(position.number)])
            ])[0].asInt64
        case .before(let time):
            return try await run([
                SQLFragment(
                    """
                    SELECT greatest(floor, coalesce((
                        SELECT position - 1 FROM portico_log WHERE time >= ? ORDER BY position LIMIT 1), position))
                    FROM portico_sequence
                    """, [.real(time.secondsSinceReferenceDate)])
            ])[0].asInt64
        }
    }

    public func forgetCopies(keptBefore instant: WireDate, dryRun: Bool) async throws -> Int {
        let values: [SQLValue] = [.real(instant.secondsSinceReferenceDate)]
        if dryRun { return try await run([SQLFragment("SELECT count(*) FROM portico_kept WHERE time < ?", values)])[0] }
        return try await remove("portico_kept", "time < ?", values)
    }

    private func remove(_ table: String, _ condition: String, _ values: [SQLValue]) async throws -> Int {
        let statement = SQLFragment(
            """
            WITH gone AS (DELETE FROM \(table) WHERE ctid = ANY(ARRAY(
                SELECT ctid FROM \(table) WHERE \(condition) LIMIT \(Self.rowsAtOnce))) RETURNING 1)
            SELECT count(*) FROM gone
            """, values)
        var removed = 0
        while true {
            try Task.checkCancellation()
            let count = try await run([statement])[0]
            removed += count
            if count == 0 { return removed }
        }
    }

    /// Statements between two group commits, each of which gives one number.
    private func run(_ statements: [SQLFragment]) async throws -> [Int] {
        _ = try state.openCatalogue()
        let deadline = deadline
        return try await writer.run { slot in
            do {
                let connection = try slot.connection()
                for statement in statements { try connection.sendOnce(statement) }
                return try connection.synchronize(Connection.WaitLimits(deadline: .now + deadline)).map {
                    Int($0[0].integer(0))
                }
            } catch {
                slot.note(error)
                throw translated(error)
            }
        }
    }
}

extension Int {
    fileprivate var asInt64: Int64 { Int64(self) }
}

/// Set once, from any thread.
private final class Flag: Sendable {
    private let value = Atomic<Bool>(false)
    var isSet: Bool { value.load(ordering: .relaxed) }
    func set() { value.store(true, ordering: .relaxed) }
}

/// One question at a time for all that ask: an answer counts for the caller that asked before the question was put.
private final class SharedPosition: Sendable {
    private struct State {
        var isAsking = false
        var waiting: [CheckedContinuation<Bool, any Error>] = []
    }

    private let state = Mutex(State())

    /// Returns when an `ask` that began after this call has ended. Throws what it threw.
    func refresh(_ ask: @Sendable () async throws -> Void) async throws {
        let asks = try await withCheckedThrowingContinuation { continuation in
            let begins = state.withLock { state in
                if state.isAsking {
                    state.waiting.append(continuation)
                    return false
                }
                state.isAsking = true
                return true
            }
            if begins { continuation.resume(returning: true) }
        }
        guard asks else { return }
        while true {
            let sharing = state.withLock { state in
                defer { state.waiting = [] }
                return state.waiting
            }
            let outcome: Result<Bool, any Error>
            do {
                try await ask()
                outcome = .success(false)
            } catch {
                outcome = .failure(error)
            }
            for continuation in sharing { continuation.resume(with: outcome) }
            // The caller that asked meanwhile asks for all of them next.
            let next = state.withLock { state in
                let next = state.waiting.isEmpty ? nil : state.waiting.removeFirst()
                if next == nil { state.isAsking = false }
                return next
            }
            next?.resume(returning: true)
            _ = try outcome.get()
            return
        }
    }
}

/// The address of a store, and limits of its use.
public struct PostgreSQLStoreSettings: Sendable {
    /// `postgresql://…`, several hosts with commas, no password in it.
    public var url: String
    public var password: Secret?
    /// The schema; it belongs to the store alone. Lower-case letters, digits and `_`.
    public var schema: String
    /// libpq's `sslmode`; nil: `verify-full`, but for servers of the loopback and of a socket.
    public var tls: String?
    /// Connections of this process; one of them writes.
    public var connections: Int
    /// Time that the server has for one answer.
    public var deadline: Duration
    public var queue: CommitQueueLimits
    public var clock: any WallClock
    public var ids: any RecordIDSource

    public init(
        url: String, password: Secret? = nil, schema: String = "portico", tls: String? = nil, connections: Int = 8,
        deadline: Duration = .seconds(10), queue: CommitQueueLimits = CommitQueueLimits(), clock: any WallClock,
        ids: any RecordIDSource = RandomRecordIDs()
    ) {
        (self.url, self.password, self.schema, self.tls) = (url, password, schema, tls)
        (self.connections, self.deadline, self.queue) = (connections, deadline, queue)
        (self.clock, self.ids) = (clock, ids)
    }

    /// Parameters in the form that libpq takes.
    func parameters() throws(PorticoError) -> [(name: String, value: String)] {
        let isName =
            (1...63).contains(schema.utf8.count)
            && schema.utf8.allSatisfy { byte in
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || byte == UInt8(ascii: "_")
            } && !schema.hasPrefix("pg_") && schema.utf8.first.map { $0 > UInt8(ascii: "9") } == true
        guard isName else {
            throw PorticoError(
                .storeUnavailable, "`store.schema` is lower-case letters, digits and `_`, and begins with a letter.")
        }
        var parameters = [
            (name: "dbname", value: url), (name: "application_name", value: "portico"),
            (name: "target_session_attrs", value: "primary"), (name: "client_encoding", value: "UTF8"),
            (name: "tcp_user_timeout", value: "5000"), (name: "keepalives_idle", value: "5"),
            (name: "keepalives_interval", value: "2"), (name: "keepalives_count", value: "3"),
            (name: "options", value: options),
        ]
        if let password { parameters.append((name: "password", value: password.reveal())) }
        let (hosts, hasPassword) = try address()
        if hasPassword {
            throw PorticoError(.storeUnavailable, "`store.url` has a password in it: put it into `store.password`.")
        }
        if let mode = tls ?? (hosts.allSatisfy(Self.isLocal) ? nil : "verify-full") {
            parameters.append((name: "sslmode", value: mode))
        }
        return parameters
    }

    /// The hosts of the address, and whether it has a password.
    private func address() throws(PorticoError) -> (hosts: [Substring], hasPassword: Bool) {
        guard let scheme = ["postgresql://", "postgres://"].first(where: url.hasPrefix) else {
            throw PorticoError(.storeUnavailable, "`store.url` begins with `postgresql://`.")
        }
        let rest = url.dropFirst(scheme.count)
        let authority = rest.prefix { $0 != "/" && $0 != "?" }
        guard !rest.contains("host=") && !rest.contains("hostaddr=") && !rest.contains("password=") else {
            throw PorticoError(.storeUnavailable, "`store.url` names its hosts before the database, and no password.")
        }
        let parts = authority.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false)
        let hosts = (parts.last ?? "").split(separator: ",").map { host in
            host.hasPrefix("[") ? host.dropFirst().prefix { $0 != "]" } : host.prefix { $0 != ":" }
        }
        return (hosts, parts.count == 2 && parts[0].contains(":"))
    }

    private static func isLocal(_ host: Substring) -> Bool {
        host == "localhost" || host == "::1" || host.hasPrefix("127.") && host.allSatisfy { $0 == "." || $0.isNumber }
            || host.hasPrefix("%2F") || host.hasPrefix("%2f")
    }

    /// A holder of the order that stops is ended by the server, and one that waits for it gives up.
    private var options: String {
        [
            "search_path=\(schema)", "jit=off", "client_min_messages=warning", "lock_timeout=5000",
            "idle_in_transaction_session_timeout=2000", "statement_timeout=0", "bytea_output=hex",
        ].map { "-c \($0)" }.joined(separator: " ")
    }
}
