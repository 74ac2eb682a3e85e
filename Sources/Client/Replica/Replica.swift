import Foundation
import GRDB
import ReplicaStorage
import SyncDevice
import Synchronization
import ValueTree

/// The records of one account on this device: read and edited without a network, and brought together with the server's
/// whenever there is one.
///
/// Reading asks the device alone. An edit is durable when its call returns, whatever happens then, and is sent when it can
/// be; what the server makes of it shows in the records and in ``status``. May be used from any task; one folder is open
/// once at a time.
public final class Replica: Sendable {
    private let database: ReplicaDatabase
    private let runner: SyncRunner
    private let signals: ChangeSignals
    private let attachments: ReplicaAttachmentStore
    private let makeID: @Sendable () -> String
    private let collections: [String]?
    private let lock: FolderLock

    /// Opens what is in the folder, or begins there. Takes milliseconds, however much there is.
    ///
    /// - Throws: ``ClientError/storage(_:)``, also where the cipher is not the one that the folder was written with.
    public init(in folder: URL, session: Session, settings: ReplicaSettings = ReplicaSettings()) throws {
        (database, lock) = try storing {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            let lock = try FolderLock(folder)
            let coding = RowCoding(
                cipher: settings.cipher.map(RowCipher.init), sensitiveFields: settings.sensitiveFields)
            let path = folder.appendingPathComponent("replica.sqlite").path
            let indexes = settings.indexes.merging(ChatRecords.indexes) { $0 + $1 }
            return (try ReplicaDatabase(path: path, coding: coding, indexes: indexes.mapValues(\.fields)), lock)
        }
        let files = folder.appendingPathComponent("attachments", isDirectory: true)
        let (database, limits) = (database, settings.limits)
        attachments = try storing { try ReplicaAttachmentStore(files, database, session, limits) }
        signals = ChangeSignals()
        makeID = settings.makeID
        collections = settings.collections
        runner = try SyncRunner(
            database, SyncServer(session: session, limits: limits), attachments, signals,
            limits.device(settings.collections), clock: settings.clock, makeClientID: settings.makeID)
    }
}

// MARK: - Reading

extension Replica {
    /// - Throws: ``ClientError/storage(_:)``.
    public func records(_ query: RecordQuery) async throws -> [Record] {
        try await database.records(query)
    }

    /// The number of records that match, at most the query's limit.
    public func count(_ query: RecordQuery) async throws -> Int {
        try await database.count(query)
    }

    /// The record as the app is to see it; nil where it is not there.
    public func record(_ id: String, in collection: String) async throws -> Record? {
        try await records(RecordQuery(collection, where: [.id(id)])).first
    }

    /// The age of the collection's records, where another system has their truth; nil: the gateway has it, or the records
    /// were never fetched. By the last sync, and by this device's clock.
    ///
    /// - Parameter freshFor: the age beyond which they are stale.
    /// - Throws: ``ClientError/storage(_:)``.
    public func age(of collection: String, freshFor: Duration = .seconds(300)) async throws -> RecordAge? {
        guard let seconds = try await database.asOf(collection) else { return nil }
        let asOf = Date(timeIntervalSinceReferenceDate: seconds)
        return RecordAge(asOf: asOf, isStale: asOf.timeIntervalSinceNow < -(freshFor / .seconds(1)))
    }

    /// The result of the query now, and again whenever it is another one: after an edit here, after a change elsewhere.
    public func observe(_ query: RecordQuery) -> Observation<[Record]> {
        Observation({ [signals] in signals.watch(query.collection) }, { [self] in try await records(query) })
    }

    /// One record, nil while there is none.
    public func observe(_ id: String, in collection: String) -> Observation<Record?> {
        Observation({ [signals] in signals.watch(collection) }, { [self] in try await record(id, in: collection) })
    }
}

// MARK: - What services build on

extension Replica {
    /// Something read from a collection, and again whenever it is another one.
    func observing<Element: Sendable & Equatable>(
        _ collection: String, _ read: @escaping @Sendable () async throws -> Element
    ) -> Observation<Element> {
        Observation({ [signals] in signals.watch(collection) }, read)
    }

    /// Has those look again that watch the collection.
    func noteChange(_ collection: String) { signals.noteChange([collection]) }

    /// A value of a service's own, durable beside the records.
    func keptValue(_ name: String) async throws -> WireValue? { try await database.keptValue(name) }

    /// Changes it in one transaction; nil from `body` leaves it.
    ///
    /// - Returns: whether it was changed.
    func keep(_ name: String, _ body: @escaping @Sendable (WireValue?) -> WireValue?) async throws -> Bool {
        try await database.keep(name, body)
    }
}

// MARK: - Editing

extension Replica {
    /// Makes a new record.
    ///
    /// The record has its key among its fields from the start, so that ``Record/decoded(as:)`` reads it as it reads the
    /// server's. What the replica knows of the collection (its key, its fields) is from its last sync; before the first one
    /// it knows nothing, adds no key and refuses no field. What the server fills in is there after the next sync.
    ///
    /// - Parameter id: nil: that of the key field where `fields` have one, else a new one, if the entity leaves it to its
    ///   clients.
    /// - Returns: the id.
    /// - Throws: ``ClientError``: `unknownCollection`, `unknownField`, `keyDiffers`, `idNotANumber`, `recordExists`,
    ///   `outboxFull`, `storage`, `closed`. Whether the server takes it shows later.
    @discardableResult
    public func create(in collection: String, _ fields: WireDictionary, id: String? = nil) async throws -> String {
        if let collections, !collections.contains(collection) { throw ClientError.unknownCollection(collection) }
        let given = if let id { id } else { await runner.id(in: fields, of: collection) }
        let id = given ?? makeID()
        _ = try await runner.edit(LocalEdit(RecordKey(collection, id), .create(fields)))
        return id
    }

    /// Sets these fields of a record and leaves the others.
    ///
    /// - Throws: ``ClientError``: `recordNotFound`, `unknownField`, `keyDiffers`, `outboxFull`, `storage`, `closed`.
    public func update(_ id: String, in collection: String, _ fields: WireDictionary) async throws {
        _ = try await runner.edit(LocalEdit(RecordKey(collection, id), .update(fields)))
    }

    /// - Throws: as ``update(_:in:_:)``.
    public func delete(_ id: String, in collection: String) async throws {
        _ = try await runner.edit(LocalEdit(RecordKey(collection, id), .delete))
    }

    /// Ends a problem. `edit` is what is wanted instead, made on the server's copy of the record; nil: nothing, the
    /// server's stays. A problem that is not there any more is passed over.
    public func resolve(_ problem: SyncProblem, with edit: Edit?) async throws {
        let key = RecordKey(problem.collection, problem.recordID)
        try await runner.resolve(problem.id, with: edit.map { LocalEdit(key, $0.action) })
    }
}

// MARK: - Attachments

extension Replica {
    /// Keeps bytes for a record, to be uploaded before the record that names them.
    ///
    /// - Returns: their SHA-256 digest, for the record's field.
    public func attach(_ bytes: [UInt8]) async throws -> String {
        try await attachments.add(bytes)
    }

    /// The bytes of an attachment: from the device, else from the server.
    ///
    /// - Throws: ``ClientError``; `refused` with 404 where no record that the account may read names it.
    public func attachment(_ digest: String) async throws -> [UInt8] {
        try await attachments.bytes(digest)
    }

    /// Frees the space of attachments that the server has.
    public func removeDownloadedAttachments() async throws {
        try await attachments.removeDownloads()
    }
}

// MARK: - Syncing

extension Replica {
    /// The state of the sync now.
    public var status: SyncStatus { runner.status.value }

    /// The present status and every later one, or the latest where the reader is slow. Ends when the replica is closed.
    public var statuses: AsyncStream<SyncStatus> { runner.status.follow() }

    /// Records that got another id since the replica was opened, because another system chose their keys: now and whenever
    /// there is one more. Their rows and the edits that wait have the new ids already; an app follows with the ids that it
    /// has kept itself. Ends when the replica is closed.
    public var movedRecords: AsyncStream<[MovedRecord]> { runner.moved.follow() }

    /// From now on the replica syncs by itself: after edits, after failures with growing pauses and, where `isLive`, as
    /// soon as something changes at the server.
    public func start(isLive: Bool = true) async {
        await runner.start(isLive: isLive)
    }

    /// From now on nothing is sent, as when an app goes to the background. Reading and editing go on.
    public func pause() async {
        await runner.pause()
    }

    /// Syncs, whether started or not, until there is nothing more to do, a try got no answer, or the time is over: for the
    /// time that a system gives in the background. What was cut off is done at the next time.
    @discardableResult
    public func sync(within time: Duration = .seconds(25)) async -> SyncStatus {
        await runner.run(within: time)
    }

    /// A hint that trying may be worth it now. Nothing ever depends on hints.
    public func networkMayBeBack() async {
        await runner.retry()
    }

    /// There are new credentials: goes on where the sign-in ended.
    public func signedIn() async {
        await runner.signedIn()
    }

    /// Ends everything that the replica does, and lets go of its folder. Observations and ``statuses`` end; nothing can be
    /// read any more.
    public func close() async {
        await runner.close()
        try? database.close()
        lock.release()
    }
}

/// Choices that an app makes about its replica.
public struct ReplicaSettings: Sendable {
    /// Collections that the replica holds. Nil: every record of every collection that the account may read.
    public var collections: [String]?
    /// Limits of what is done at once.
    public var limits: SyncLimits
    /// Fields by collection that the app orders or filters by: each gets an index. Changing them costs one pass over the
    /// collection at the next start.
    public var indexes: [String: [FieldIndex]]
    /// Fields by collection that lie encrypted on the device. They cannot be asked for. Edits that wait, and attachments,
    /// are encrypted as a whole where there is a cipher.
    public var sensitiveFields: [String: Set<String>]
    /// Encrypts sensitive fields; nil: they are stored as they are.
    public var cipher: (any FieldCipher)?
    /// Measures the pauses between attempts.
    public var clock: any Clock<Duration>
    /// 1 to 64 letters, digits, `-`, `_` and `.` that no one else has.
    public var makeID: @Sendable () -> String

    /// Creates settings; what is not named has its default.
    public init(
        collections: [String]? = nil, limits: SyncLimits = SyncLimits(),
        indexes: [String: [FieldIndex]] = [:], sensitiveFields: [String: Set<String>] = [:],
        cipher: (any FieldCipher)? = nil, clock: any Clock<Duration> = ContinuousClock(),
        makeID: @escaping @Sendable () -> String = { UUID().uuidString.lowercased() }
    ) {
        self.collections = collections
        self.limits = limits
        self.indexes = indexes
        self.sensitiveFields = sensitiveFields
        self.cipher = cipher
        self.clock = clock
        self.makeID = makeID
    }
}

/// Fields of a collection that an app filters or orders by, together: the first by equality, the last by range or order.
/// One field is written as a text, several as a list.
public struct FieldIndex: Sendable, Hashable, ExpressibleByStringLiteral, ExpressibleByArrayLiteral {
    /// The fields of the index, in order.
    public let fields: [String]

    /// An index over these fields.
    public init(_ fields: [String]) { self.fields = fields }
    public init(stringLiteral field: String) { fields = [field] }
    public init(arrayLiteral fields: String...) { self.fields = fields }
}

extension [FieldIndex] {
    /// Each once.
    var fields: Set<[String]> { Set(map(\.fields)) }
}

/// Tells those who watch a collection that it changed. A signal says no more than that; several become one where the
/// watcher is busy.
final class ChangeSignals: Sendable {
    private struct Watchers {
        var last = 0
        var continuations: [Int: (collection: String, AsyncStream<Void>.Continuation)] = [:]
        var isClosed = false
    }

    private let watchers = Mutex(Watchers())

    /// Signals from now on; the stream ends when the replica is closed.
    func watch(_ collection: String) -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let number = watchers.withLock { watchers -> Int? in
            guard !watchers.isClosed else { return nil }
            watchers.last += 1
            watchers.continuations[watchers.last] = (collection, continuation)
            return watchers.last
        }
        guard let number else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in
            self?.watchers.withLock { _ = $0.continuations.removeValue(forKey: number) }
        }
        return stream
    }

    func noteChange(_ collections: Set<String>) {
        let concerned = watchers.withLock { watchers in
            watchers.continuations.values.filter { collections.contains($0.collection) }.map(\.1)
        }
        for continuation in concerned { continuation.yield() }
    }

    func close() {
        let all = watchers.withLock { watchers in
            watchers.isClosed = true
            return watchers.continuations.values.map(\.1)
        }
        for continuation in all { continuation.finish() }
    }
}

/// The result of a query, and again whenever it is another one. Comes to its end when the replica is closed.
///
/// Each iteration watches by itself. Between two results there may have been others: a slow reader gets the latest.
public struct Observation<Element: Sendable & Equatable>: AsyncSequence, Sendable {
    /// The error that ends the sequence early.
    public typealias Failure = any Error

    private let watch: @Sendable () -> AsyncStream<Void>
    private let read: @Sendable () async throws -> Element

    init(_ watch: @escaping @Sendable () -> AsyncStream<Void>, _ read: @escaping @Sendable () async throws -> Element) {
        self.watch = watch
        self.read = read
    }

    public func makeAsyncIterator() -> Iterator {
        // Watching begins before the first reading, so that nothing falls in between.
        Iterator(signals: watch().makeAsyncIterator(), read: read)
    }

    /// Gives the present value first.
    public struct Iterator: AsyncIteratorProtocol {
        var signals: AsyncStream<Void>.Iterator
        let read: @Sendable () async throws -> Element
        var last: Element?

        /// - Throws: ``ClientError/storage(_:)``, or `CancellationError`.
        public mutating func next() async throws -> Element? {
            guard let seen = last else {
                last = try await read()
                return last
            }
            while await signals.next() != nil {
                let current = try await read()
                guard current != seen else { continue }
                last = current
                return current
            }
            try Task.checkCancellation()
            return nil
        }
    }
}
