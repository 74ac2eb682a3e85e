import AdapterKit
import AdapterProtocol
import Dispatch
import Synchronization

/// The host's records: the adapter's own, or as the caller of a request sees them.
struct HostRecords: RecordStore {
    private let connection: MessageConnection
    /// The request whose caller's rights hold; nil: the adapter's own.
    private let caller: Int?

    init(_ connection: MessageConnection, caller: Int?) {
        self.connection = connection
        self.caller = caller
    }

    private func request(_ method: String, _ parameters: WireDictionary) async throws -> WireValue {
        var parameters = parameters
        if caller != nil { parameters["as"] = "caller" }
        return try await connection.hostRequest(method, parameters, scope: caller ?? HostCall.current?.scope)
    }

    func record(_ id: RecordID, in entity: EntityName) async throws -> Record? {
        try Record?(message: try await request(RequestMethod.record, ["entity": entity.message, "id": id.message]))
    }

    func query(_ query: Query, in entity: EntityName) async throws -> RecordPage {
        try RecordPage(
            message: try await request(RequestMethod.query, ["entity": entity.message, "query": query.message]))
    }

    func count(_ filter: Filter?, in entity: EntityName) async throws -> Int {
        try Int(message: try await request(RequestMethod.count, ["entity": entity.message, "filter": filter.message]))
    }

    func requireAccess(_ effect: Effect, to entities: Set<EntityName>) async throws {
        _ = try await request(
            RequestMethod.requireAccess, ["effect": effect.message, "entities": entities.message])
    }

    func apply(_ changes: [RecordChange]) async throws -> WriteReceipt {
        try WriteReceipt(message: try await request(RequestMethod.apply, ["changes": changes.message]))
    }

    func withReadSnapshot<Result: Sendable>(
        _ body: @escaping @Sendable (any RecordSnapshot) throws -> Result
    ) async throws -> Result {
        let snapshot = try await open([:])
        return try await withTaskCancellationHandler {
            try await onDedicatedThread {
                defer { snapshot.close() }
                return try snapshot.repeating { try body(snapshot) }
            }
        } onCancel: {
            snapshot.cancel()
        }
    }

    func streamSnapshot(
        within time: Duration, _ body: @escaping @Sendable (any RecordSnapshot, any ChunkOutput) throws -> Void
    ) async throws -> any ByteStream {
        let snapshot = try await open(["within": time.message])
        let pieces = SnapshotPieces(snapshot)
        let isStarted = SystemThread.start {
            do {
                try snapshot.repeating {
                    try body(snapshot, pieces)
                }
                pieces.finish(nil)
            } catch {
                pieces.finish(error)
            }
            snapshot.close()
        }
        guard isStarted else {
            snapshot.close()
            throw PorticoError(.overloaded, "There is no thread left.", retryAfter: 1)
        }
        return SnapshotStream(pieces)
    }

    private func open(_ parameters: WireDictionary) async throws -> HostSnapshot {
        let opened = try MessageMap(try await request(RequestMethod.openSnapshot, parameters))
        return HostSnapshot(
            try opened("snapshot"), position: try opened("position"), connection: connection,
            caller: caller, call: HostCall.current)
    }
}

extension MessageConnection {
    /// A request to the host. What the connection's end means to an adapter is `adapter.unavailable`.
    func hostRequest(_ method: String, _ parameters: WireDictionary = [:], scope: Int?) async throws -> WireValue {
        do {
            return try await request(method, parameters, scope: scope)
        } catch is ConnectionEnded {
            throw PorticoError(.adapterUnavailable, "The gateway has closed the connection.")
        }
    }

    func blockingHostRequest(_ method: String, _ parameters: WireDictionary = [:], scope: Int?) throws -> WireValue {
        do {
            return try blockingRequest(method, parameters, scope: scope)
        } catch is ConnectionEnded {
            throw PorticoError(.adapterUnavailable, "The gateway has closed the connection.")
        }
    }
}

/// A snapshot of the host's records, by its number. Each of its methods is a request, and blocks its thread.
///
/// It is handed to one body, which runs on one thread.
final class HostSnapshot: RecordSnapshot, Sendable {
    private struct State {
        var position: Revision
        var isCancelled = false
    }

    private let number: Int
    private let connection: MessageConnection
    /// The request whose caller's rights hold, or whose question is answered; nil: the adapter's own.
    private let caller: Int?
    /// The request in whose course it was opened. Its body runs on a thread, which has no task's values.
    private let call: HostCall?
    private let state: Mutex<State>

    init(_ number: Int, position: Revision, connection: MessageConnection, caller: Int?, call: HostCall? = nil) {
        self.number = number
        self.connection = connection
        self.caller = caller
        self.call = call
        state = Mutex(State(position: position))
    }

    var position: Revision { state.withLock { $0.position } }

    private var scope: Int? { caller ?? call?.scope }

    func cancel() { state.withLock { $0.isCancelled = true } }

    /// Runs the body again where the store broke its reads off.
    func repeating<Result>(_ body: () throws -> Result) throws -> Result {
        while true {
            do { return try body() } catch is SnapshotRestarted {
                let begun = try MessageMap(try read("begin"))
                let position: Revision = try begun("position")
                state.withLock { $0.position = position }
            }
        }
    }

    /// The host lets go of what the snapshot holds.
    func close() {
        _ = try? connection.blockingHostRequest(RequestMethod.closeSnapshot, ["snapshot": number.message], scope: scope)
    }

    /// What was read has begun to leave: the store cannot begin again.
    func commit() throws { _ = try read("commit") }

    func checkCancellation() throws {
        if state.withLock({ $0.isCancelled }) { throw CancellationError() }
    }

    private func read(_ operation: String, _ parameters: WireDictionary = [:]) throws -> WireValue {
        try checkCancellation()
        var parameters = parameters
        parameters["snapshot"] = number.message
        parameters["read"] = .string(operation)
        return try connection.blockingHostRequest(RequestMethod.readSnapshot, parameters, scope: scope)
    }

    func record(_ id: RecordID, in entity: EntityName) throws -> Record? {
        try Record?(message: try read("record", ["entity": entity.message, "id": id.message]))
    }

    func query(_ query: Query, in entity: EntityName) throws -> RecordPage {
        try RecordPage(message: try read("query", ["entity": entity.message, "query": query.message]))
    }

    func count(_ filter: Filter?, in entity: EntityName) throws -> Int {
        try Int(message: try read("count", ["entity": entity.message, "filter": filter.message]))
    }

    func rows(_ relation: Relation, _ receive: (any RowValues) throws -> Void) throws {
        var batch = try MessageMap(try read("rows", ["relation": relation.message]))
        while true {
            let rows: [[WireValue]] = try batch("rows")
            let isLast: Bool = try batch("isLast")
            do {
                for row in rows { try receive(HostRow(values: row)) }
            } catch {
                if !isLast { _ = try? read("endRows") }
                throw error
            }
            if isLast { return }
            batch = try MessageMap(try read("moreRows"))
        }
    }

    func changeCursor(of entities: [EntityName]) throws -> ChangeCursor {
        try ChangeCursor(message: try read("cursor", ["entities": entities.message]))
    }

    func changes(of entities: [EntityName], since cursor: ChangeCursor, limit: Int) throws -> ChangedRecordPage {
        try ChangedRecordPage(
            message: try read(
                "changes", ["entities": entities.message, "since": cursor.message, "limit": limit.message]))
    }
}

private struct HostRow: RowValues {
    let values: [WireValue]

    var count: Int { values.count }

    subscript(column: Int) -> WireValue {
        get throws {
            guard values.indices.contains(column) else {
                throw PorticoError(.serverInternal, "Something went wrong on the server.", logDetail: "no such column")
            }
            return values[column]
        }
    }

    func withText<Result>(_ column: Int, _ body: (UnsafeBufferPointer<UInt8>) throws -> Result) rethrows -> Result? {
        guard values.indices.contains(column), case .string(var text) = values[column] else { return nil }
        return try text.withUTF8(body)
    }
}

/// The pieces of a snapshot's reads on their way to their reader: one at a time.
private final class SnapshotPieces: ChunkOutput {
    private struct State {
        var piece: [UInt8]?
        var end: Result<Void, any Error>?
        var hasSent = false
        var reader: CheckedContinuation<[UInt8]?, any Error>?
    }

    private let state = Mutex(State())
    private let room = DispatchSemaphore(value: 0)
    private let snapshot: HostSnapshot

    init(_ snapshot: HostSnapshot) { self.snapshot = snapshot }

    func send(_ piece: [UInt8]) throws {
        guard !piece.isEmpty else { return }
        if !state.withLock({ $0.hasSent }) {
            // From here on the reads cannot begin again, since a piece is on its way.
            try snapshot.commit()
            state.withLock { $0.hasSent = true }
        }
        while true {
            let (reader, isDone) = try state.withLock { state -> (CheckedContinuation<[UInt8]?, any Error>?, Bool) in
                if let end = state.end {
                    try end.get()
                    throw CancellationError()
                }
                if let reader = state.reader {
                    state.reader = nil
                    return (reader, true)
                }
                guard state.piece == nil else { return (nil, false) }
                state.piece = piece
                return (nil, true)
            }
            reader?.resume(returning: piece)
            if isDone { return }
            room.wait()
        }
    }

    func finish(_ error: (any Error)?) {
        let end: Result<Void, any Error> = error.map { .failure($0) } ?? .success(())
        let reader = state.withLock { state in
            if state.end == nil { state.end = end }
            defer { state.reader = nil }
            return state.reader
        }
        reader?.resume(with: end.map { nil })
    }

    func next() async throws -> [UInt8]? {
        defer { room.signal() }
        return try await withCheckedThrowingContinuation { continuation in
            let result = state.withLock { state -> Result<[UInt8]?, any Error>? in
                if let piece = state.piece {
                    state.piece = nil
                    return .success(piece)
                }
                if let end = state.end { return end.map { nil } }
                state.reader = continuation
                return nil
            }
            if let result { continuation.resume(with: result) }
        }
    }

    func cancel() {
        snapshot.cancel()
        let reader = state.withLock { state in
            if state.end == nil { state.end = .failure(CancellationError()) }
            state.piece = nil
            defer { state.reader = nil }
            return state.reader
        }
        reader?.resume(throwing: CancellationError())
        room.signal()
    }
}

/// Ends the reads where its last reference goes.
private final class SnapshotStream: ByteStream {
    private let pieces: SnapshotPieces

    init(_ pieces: SnapshotPieces) { self.pieces = pieces }

    deinit { pieces.cancel() }

    func next() async throws -> [UInt8]? {
        try await withTaskCancellationHandler {
            try await pieces.next()
        } onCancel: {
            pieces.cancel()
        }
    }

    func cancel() { pieces.cancel() }
}
