import AdapterKit
import Admission
import DurableFiles
import Foundation
import GRDB
import RecordStorage
import Synchronization

/// Every adapter's records in one SQLite file, for one process.
///
/// Reads run on the caller's thread over a pool of read-only connections; writes gather in group commits on the one
/// connection that writes, each answered when it is on the disk. What the tables look like, what migrates and what
/// survives is docs/store.md.
public final class SQLiteStore: HostedStore, PageLoggedStore {
    public let epoch: Epoch
    private let lock: StoreLock
    let readers: ReaderPool
    private let streams: StreamedReads
    let writer: Writer
    private let positions: LogPositions
    private let catalogue: SharedCatalogue
    private let statistics: TableStatistics
    private let clock: any WallClock
    private let file: StoreFile
    private let health: StoreHealth
    private let marker: StoreMarker
    private let counters = StoreCounters()
    private let replaced = Mutex<[CollectionID: Int]>([:])

    /// Opens the file, or makes it; checks it where it was left open. Throws ``PorticoError`` where another process has
    /// it, where it is damaged, or where it is no store of this version.
    public init(_ settings: SQLiteStoreSettings) throws {
        do {
            lock = try StoreLock(for: settings.path)
            let (health, marker) = (StoreHealth(), StoreMarker(path: settings.markerPath ?? settings.path + ".marker"))
            (self.health, self.marker) = (health, marker)
            let restore = StoreRestore(path: settings.path)
            try restore.finish { try marker.remove() }
            let arrival = StoreFilesState(
                path: settings.path, marker: try marker.read(), companions: settings.companions)
            let doubt = arrival.doubt()
            if let doubt, !settings.acceptsFiles { throw doubt }
            try arrival.setAside(as: restore.replaced)
            let file = StoreFile(
                path: settings.path, maximumPages: settings.maximumPages,
                survivesPowerFailure: settings.survivesPowerFailure)
            self.file = file
            let isChecked = settings.integrity == .always || file.wasLeftOpen
            let connection = try file.openWriter()
            let catalogue = SharedCatalogue()
            (epoch, positions) = try connection.writeWithoutTransaction { database in
                if isChecked { try StoreFile.checkIntegrity(database) }
                var epoch = try HostSchema.prepare(database) { Epoch(settings.ids.next().text) }
                let unexpected = doubt ?? arrival.doubt(of: epoch)
                if let unexpected, !settings.acceptsFiles { throw unexpected }
                if unexpected != nil { epoch = try HostSchema.renew(Epoch(settings.ids.next().text), database) }
                return (epoch, try StoredPositions.all(on: database))
            }
            health.watch([settings.path, settings.path + "-wal", settings.path + ".lock"])
            // Where the disk is full, reading is still possible; what is missing is a check at the next start.
            try? marker.write(StoreMarker.Content(epoch: epoch, use: .open))
            statistics = TableStatistics()
            let commit = GroupCommit(
                positions: positions, health: health, clock: settings.clock, ids: settings.ids, statistics: statistics,
                catalogue: { catalogue.current })
            readers = ReaderPool(
                try (0..<settings.readers).map { _ in try file.openReader(quickSteps: settings.quickSteps) },
                longQueryPool: LongQueryPool(settings.longReads, turn: settings.longReadTurn) {
                    try file.openSlowReader(cacheKilobytes: LongQueryPool.cacheKilobytes, checking: health)
                },
                longReads: catalogue.current.longReads, counters: counters)
            writer = Writer(
                connection, limits: settings.queue, commit: commit, readers: readers, counters: counters)
            streams = StreamedReads(settings.streams, turn: settings.longReadTurn) {
                try file.openSlowReader(checking: health)
            }
            self.catalogue = catalogue
            clock = settings.clock
        } catch {
            throw PorticoError.wrapping(error)
        }
    }

    public func close() async {
        catalogue.close()
        // The writer last: only the last connection to close empties the log file, and readers may not.
        streams.close()
        readers.close()
        let closed = StoreMarker.Content(epoch: epoch, use: .closed)
        let isInPlace = (try? health.checkPlaces()) != nil
        // Before the log file goes: the caller that finds none must find this.
        await writer.close { if isInPlace { try? self.marker.write(closed) } }
        if isInPlace, !file.hasLog { try? marker.write(closed) }
        lock.release()
    }
}

extension SQLiteStore {
    /// Between two commits: each commit is made by the layouts of before, or by those of after.
    public func install(_ collections: [CollectionDeclaration]) async throws {
        let (positions, statistics, catalogue, time) = (positions, statistics, catalogue, clock.now())
        let replaced = try await writer.run { database in
            let known = catalogue.current
            let installer = SchemaInstaller(
                database: database, position: positions.last, time: time, isServing: known.isInUse)
            let result = try installer.install(collections) { declaration in
                !known.hasLayout(of: declaration, scopeFields: collections.scopeFields(of: declaration.id))
            }
            catalogue.add(result.layouts)
            positions.advance(to: result.position, adapters: result.touched)
            try statistics.begin(with: result.layouts, on: database)
            return result.replaced
        }
        self.replaced.withLock { $0.merge(replaced) { $0 + $1 } }
    }

    public func extend(to collections: [CollectionDeclaration]) async throws {
        let known = catalogue.current
        try await install(
            collections.map { declaration in
                let scope = collections.scopeFields(of: declaration.id)
                guard let layout = try? known.layout(declaration.id),
                    !known.hasLayout(of: declaration, scopeFields: scope)
                else { return declaration }
                return declaration.covering(layout, scopeFields: scope)
            })
    }

    public func schemaChange(
        to collections: [CollectionDeclaration], retiring retired: [CollectionID]
    ) async throws -> SchemaChange {
        _ = try openCatalogue()
        return try await readers.read { database in
            try SchemaChange(
                from: InstalledSchema(of: database, for: collections, and: retired), to: collections, retiring: retired)
        }
    }

    public var replacedValues: [CollectionID: Int] { replaced.withLock { $0 } }

    public func record(_ id: RecordID, in collection: CollectionID, visible: Filter?) async throws -> AdapterKit.Record?
    {
        let catalogue = try openCatalogue()
        let layout = try catalogue.layout(collection)
        return try await readers.read {
            try Reader(database: $0, catalogue: catalogue).record(id, in: layout, visible: visible)
        }
    }

    public func query(_ query: Query, in collection: CollectionID) async throws -> RecordPage {
        try query.checkSize()
        let catalogue = try openCatalogue()
        let layout = try catalogue.layout(collection)
        return try await readers.read { try Reader(database: $0, catalogue: catalogue).page(query, in: layout) }
    }

    public func query(_ query: Query, in collection: CollectionID, atMost bytes: Int) async throws -> RecordPage {
        try query.checkSize()
        let catalogue = try openCatalogue()
        let layout = try catalogue.layout(collection)
        return try await readers.read {
            try Reader(database: $0, catalogue: catalogue).page(query, in: layout, atMost: bytes)
        }
    }

    public func count(_ filter: Filter?, in collection: CollectionID) async throws -> Int {
        let catalogue = try openCatalogue()
        let layout = try catalogue.layout(collection)
        return try await readers.read { try Reader(database: $0, catalogue: catalogue).count(filter, in: layout) }
    }

    public func changes(after position: Revision, limit: Int) async throws -> [LogEntry] {
        try await withReadSnapshot { try $0.changes(after: position, limit: limit) }
    }

    /// A read costs no round trip here: `reads` is not looked at.
    public func withReadSnapshot<Result: Sendable>(
        expecting reads: [StoreRead], _ body: @escaping @Sendable (any StoreSnapshot) throws -> Result
    ) async throws -> Result {
        let catalogue = try openCatalogue()
        return try await readers.read { try body(DatabaseSnapshot($0, catalogue, $1)) }
    }

    public func streamSnapshot(
        within time: Duration, _ body: @escaping @Sendable (any StoreSnapshot, any ChunkOutput) throws -> Void
    ) async throws -> any ByteStream {
        let catalogue = try openCatalogue()
        return try await streams.start(within: time) { try body(DatabaseSnapshot($0, catalogue, $1), $1) }
    }

    public func write(_ transaction: WriteTransaction) async throws -> WriteReceipt {
        _ = try openCatalogue()
        guard !transaction.steps.isEmpty else { return WriteReceipt(position: position, records: []) }
        return try await writer.write(weight: transaction.steps.count) { try $0.perform(transaction) }
    }

    /// A read costs no round trip here: `reads` is not looked at.
    public func transact<Result: Sendable>(
        weight: Int, expecting reads: [StoreRead], _ body: @escaping @Sendable (any StoreTransaction) throws -> Result
    ) async throws -> Result {
        _ = try openCatalogue()
        return try await writer.write(weight: weight) { run in
            try run.undoing { try body(DatabaseTransaction(run)) }
        }
    }

    public func compact(_ bound: CompactionBound, dryRun: Bool) async throws -> Compaction {
        _ = try openCatalogue()
        if !dryRun { try await finishRemovals() }
        return try await LogCompaction(readers: readers, writer: writer, positions: positions).run(
            bound, dryRun: dryRun)
    }

    /// Deletes what is left of deletions that were too large for one transaction, between other writers' commits.
    private func finishRemovals() async throws {
        while try await writer.write(weight: CascadingRemoval.recordsAtOnce, { try $0.continueRemovals() }) {
            try Task.checkCancellation()
        }
    }

    public func forgetCopies(keptBefore instant: WireDate, dryRun: Bool) async throws -> Int {
        _ = try openCatalogue()
        return try await CopyRemoval(readers: readers, writer: writer).run(keptBefore: instant, dryRun: dryRun)
    }

    public func backUp(
        to directory: String, adding: @escaping @Sendable (String) throws -> Void
    ) async throws -> BackupSummary {
        _ = try openCatalogue()
        let (file, health) = (file, health)
        return try await DedicatedThread.run(label: "store.backup") {
            let source = try file.openSlowReader(checking: health)
            defer { try? source.close() }
            return try StoreBackup(directory: URL(filePath: directory)).make(from: source, adding: adding)
        }
    }

    public var databaseBytes: Int64 { figures.databaseBytes }

    public func openPageLog(stream: String, in folder: String, limit: Int64) async throws -> PageLog {
        _ = try openCatalogue()
        return try await PageLog.begin(
            stream: stream, in: folder, limit: limit, writer: writer, log: file.path + "-wal")
    }

    public func copyDatabase(to path: String) async throws -> BackupSummary {
        _ = try openCatalogue()
        let (file, health) = (file, health)
        return try await DedicatedThread.run(label: "store.copy") {
            let source = try file.openSlowReader(checking: health)
            defer { try? source.close() }
            do { return try StoreBackup.copyFile(from: source, to: path) } catch {
                throw PorticoError.ofFiles(error, "The database cannot be copied.")
            }
        }
    }

    /// Asks the file system for two sizes.
    public var figures: StoreFigures {
        counters.figures(
            queued: writer.queued, longPool: readers.longPool, streamPool: streams.counts, path: file.path)
    }

    public func inspect(checksIntegrity: Bool) async throws -> StoreInspection {
        _ = try openCatalogue()
        let (file, health) = (file, health)
        return try await DedicatedThread.run(label: "store.inspection") {
            let source = try file.openSlowReader(checking: health)
            defer { try? source.close() }
            return try source.read { database in
                if checksIntegrity { try StoreFile.checkIntegrity(database) }
                let free = try database.row(
                    "SELECT freelist_count * page_size FROM pragma_freelist_count, pragma_page_size"
                ) {
                    $0.integer(0)
                }
                return StoreInspection(
                    contents: try BackupSummary(of: database), freeBytes: free ?? 0, logFileBytes: file.logBytes)
            }
        }
    }

    public var problem: StoreProblem? { health.current }

    /// Looks whether the files are in their places and, where writes failed, whether one succeeds again.
    @discardableResult
    public func probe() async -> StoreProblem? {
        do {
            try health.checkPlaces()
            switch health.current {
            case nil, .damaged, .misplaced: break
            case .full, .failing:
                try await writer.run { try WriteProbe(database: $0).run() }
                health.recovered()
            }
        } catch {
            // The caller that found it has noted it.
        }
        return health.current
    }

    func openCatalogue() throws(PorticoError) -> LayoutCatalogue {
        try health.requireInPlace()
        return try catalogue.open()
    }

    public var position: Revision { Revision(positions.last) }

    public func observe<Observer: AnyObject & Sendable>(
        _ observer: Observer, _ body: @escaping @Sendable (Observer, Revision) -> Void
    ) {
        positions.observers.add(observer, body)
    }

    public var floor: Revision { Revision(positions.floor) }

    public func position(of adapter: AdapterName) -> Revision { Revision(positions.last(of: adapter)) }

    /// One process has the file, so what is known here is exact.
    public func knownVersion(of adapter: AdapterName) -> RecordsVersion? { RecordsVersion(position(of: adapter)) }

    public func currentVersion(of adapter: AdapterName) async throws -> RecordsVersion {
        RecordsVersion(position(of: adapter))
    }
}

extension SQLiteStore {
    /// SQLite's way to the page: its `EXPLAIN QUERY PLAN`, a line for each step.
    package func plan(of query: Query, in collection: CollectionID) async throws -> [String] {
        let catalogue = try openCatalogue()
        let layout = try catalogue.layout(collection)
        let page = try PageCompiler(query, in: layout, catalogue).statement
        return try await readers.read { try Self.plan(page, on: $0) }
    }

    /// A relation's statement: a text without any of the relation's values.
    package func sql(of relation: Relation, seen visible: VisibleRows) throws -> String {
        try RelationCompiler.statement(relation, try openCatalogue(), visible).fragment.sql
    }

    /// The same of a relation.
    package func plan(of relation: Relation, seen visible: VisibleRows) async throws -> [String] {
        let statement = try RelationCompiler.statement(relation, try openCatalogue(), visible).fragment
        return try await readers.read { try Self.plan(statement, on: $0) }
    }

    /// An `EXPLAIN` itself does not look whether the schema has changed, as the statement that it explains would, so
    /// another one does before it, and it is prepared anew each time.
    private static func plan(_ fragment: SQLFragment, on database: Database) throws -> [String] {
        try database.run("SELECT 1 FROM sqlite_schema LIMIT 1")
        let statement = try database.makeStatement(sql: "EXPLAIN QUERY PLAN " + fragment.sql)
        let execution = try Execution(statement, fragment.values)
        var steps: [String] = []
        while try execution.step() { steps.append(execution.row.text(3)) }
        return steps
    }
}

/// Settings with which a store is opened.
public struct SQLiteStoreSettings: Sendable {
    /// The database file; its directory must be there. Three files lie beside it while it is open: `-wal`, `-shm` and
    /// `.lock`.
    public let path: String
    /// Connections that read. A read holds one for its duration, on its caller's thread.
    public let readers: Int
    /// Reads that turn out to take long and may go on at once, with a connection and a thread each; at least two,
    /// so that one caller never has all of them.
    public let longReads: Int
    /// The time for which one of them goes on while another caller waits who has none; then it throws `server.overloaded`.
    public let longReadTurn: Duration
    /// Reads that may go on at once while a caller takes what they find, with a connection and a thread each.
    public let streams: Int
    /// The file's largest size, in pages of 4 KiB; nil: what the disk holds. Beyond it writes throw `store.full`.
    public let maximumPages: Int?
    public let integrity: IntegrityCheck
    /// The marker that names the store that was here; nil: beside the database file.
    public var markerPath: String?
    /// The other content of the data directory that shows that a store was used with it, such as attachments: beside it no empty store is
    /// made without ``acceptsFiles``. Nil: nothing.
    public var companions: String?
    /// Whether the files are opened although they are not the store that was here: an empty one, another one, or one
    /// without its log file. It gets a new epoch, so that devices start over.
    public var acceptsFiles = false
    /// A switch of the test for lost writes, to show that it finds them.
    package var survivesPowerFailure = true
    /// Instructions of SQLite's virtual machine, some milliseconds of them, after which a read is broken off and begun
    /// again where it holds up no caller.
    package var quickSteps: Int32 = 250_000
    let queue: CommitQueueLimits
    let clock: any WallClock
    let ids: any RecordIDSource

    public init(
        path: String, readers: Int = max(2, ProcessInfo.processInfo.activeProcessorCount + 1), longReads: Int = 2,
        longReadTurn: Duration = .seconds(10), streams: Int = 8,
        maximumPages: Int? = nil,
        integrity: IntegrityCheck = .whereLeftOpen, queue: CommitQueueLimits = CommitQueueLimits(),
        clock: any WallClock,
        ids: any RecordIDSource = RandomRecordIDs()
    ) {
        self.path = path
        self.readers = readers
        self.longReads = max(2, longReads)
        self.longReadTurn = longReadTurn
        self.streams = streams
        self.maximumPages = maximumPages
        self.integrity = integrity
        self.queue = queue
        self.clock = clock
        self.ids = ids
    }
}

/// When the whole file is read and checked before it is used.
public enum IntegrityCheck: Sendable, Equatable {
    /// Where the process that had it open last did not close it.
    case whereLeftOpen
    /// Each time: after a restore from a backup.
    case always
}

extension SQLiteStore {
    public func beginReplacement(of collection: CollectionID) async throws -> any RecordReplacement {
        let layout = try openCatalogue().layout(collection)
        return try await TableReplacement.begin(of: layout, in: StoreParts(writer: writer, readers: readers))
    }
}
