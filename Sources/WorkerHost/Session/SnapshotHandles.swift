import AdapterKit
import AdapterProtocol
import Admission
import Dispatch
import Synchronization

/// The snapshots that a worker has open, by number.
final class SnapshotHandles: Sendable {
    private struct State {
        var last = 0
        var open: [Int: OpenSnapshot] = [:]
        /// The latest that were broken off.
        var brokenOff: [Int] = []
        var isClosed = false
    }

    private static let mostRemembered = 64

    /// The store has few permits for reads of any length, and keeps what is older than the eldest of them.
    private static let longest = Duration.seconds(60)

    private let share: SnapshotShare
    private let time: Duration
    private let state = Mutex(State())

    init(_ share: SnapshotShare, time: Duration) {
        self.share = share
        self.time = time
    }

    /// Opens one, as soon as there is a permit for it. `within`: how long reads may take that are streamed. It is closed when
    /// the call is over in whose course it is opened; one that waits then is not opened, nor where the task is cancelled.
    func open(
        _ records: any RecordStore, within: Duration?, isOfCaller: Bool, in call: CallSnapshots
    ) async throws -> (number: Int, position: Revision) {
        let opening = Task { try await open(records, within: within, isOfCaller: isOfCaller, of: call) }
        return try await withTaskCancellationHandler {
            guard let number = call.add({ opening.cancel() }) else {
                opening.cancel()
                _ = await opening.result
                throw CancellationError()
            }
            defer { call.remove(number) }
            return try await opening.value
        } onCancel: {
            opening.cancel()
        }
    }

    private func open(
        _ records: any RecordStore, within: Duration?, isOfCaller: Bool, of call: CallSnapshots
    ) async throws -> (number: Int, position: Revision) {
        let permits = share.permits.queue
        let permit = try await permits.acquire(share.adapter).place
        let snapshot = OpenSnapshot(
            until: .now + (within.map { max(.zero, min($0, Self.longest)) } ?? time), isOfCaller: isOfCaller)
        let number = state.withLock { state in
            state.last += 1
            if !state.isClosed { state.open[state.last] = snapshot }
            return state.last
        }
        permits.hold(permit) { [self] in
            state.withLock { state in
                guard !state.brokenOff.contains(number) else { return }
                state.brokenOff = (state.brokenOff + [number]).suffix(Self.mostRemembered)
            }
            snapshot.breakOff()
        }
        let closing = call.add { snapshot.withdraw() }
        snapshot.hold(records) { [self] in
            state.withLock { $0.open[number] = nil }
            permits.leave(permit)
            if let closing { call.remove(closing) }
        }
        if state.withLock({ $0.isClosed }) { snapshot.close() }
        if closing == nil { snapshot.withdraw() }
        return try await withTaskCancellationHandler {
            let position = try await snapshot.position()
            try Task.checkCancellation()
            return (number, position)
        } onCancel: {
            snapshot.withdraw()
        }
    }

    func read(_ number: Int, _ map: MessageMap) async throws -> WireValue {
        let (snapshot, isBrokenOff) = state.withLock { ($0.open[number], $0.brokenOff.contains(number)) }
        guard let snapshot else {
            if isBrokenOff { throw OpenSnapshot.brokenOff }
            throw PorticoError(.deadlineExceeded, "The snapshot is not open any more.")
        }
        return try await snapshot.read(try map("read"), map)
    }

    /// Whether it shows what the caller of a call may see, and not all of the adapter's records.
    func isOfCaller(_ number: Int) -> Bool { state.withLock { $0.open[number]?.isOfCaller ?? false } }

    func close(_ number: Int) { state.withLock { $0.open[number] }?.close() }

    func closeAll() {
        let open = state.withLock { state in
            state.isClosed = true
            return Array(state.open.values)
        }
        for snapshot in open { snapshot.close() }
    }
}

/// The snapshots that are opened in the course of one call. They end with it, since nothing else knows their numbers.
final class CallSnapshots: Sendable {
    private struct State {
        var last = 0
        var closings: [Int: @Sendable () -> Void] = [:]
        var isOver = false
    }

    private let state = Mutex(State())

    /// `close` is called when the call is over. Returns the number to remove it by; nil: the call is over.
    func add(_ close: @escaping @Sendable () -> Void) -> Int? {
        state.withLock { state in
            guard !state.isOver else { return nil }
            state.last += 1
            state.closings[state.last] = close
            return state.last
        }
    }

    func remove(_ number: Int) { state.withLock { $0.closings[number] = nil } }

    /// The call is over.
    func closeAll() {
        let closings = state.withLock { state in
            state.isOver = true
            defer { state.closings = [:] }
            return Array(state.closings.values)
        }
        for close in closings { close() }
    }
}

/// One snapshot of the store, held open on the store's thread while a worker asks for reads, up to an instant.
final class OpenSnapshot: Sendable {
    private struct Read {
        let operation: String
        let map: MessageMap
        let reply: CheckedContinuation<WireValue, any Error>
    }

    private struct State {
        var reads: [Read] = []
        var isClosed = false
        /// Whether its place is for another one now.
        var isBrokenOff = false
        /// Whether it is not wanted any more, whatever it reads.
        var isWithdrawn = false
        var pieces: (any ByteStream)?
        var task: Task<Void, Never>?
        var isOver: Result<Void, any Error>?
        var position: Revision?
        var opener: CheckedContinuation<Revision, any Error>?
        var runs = 0
    }

    /// Bytes of rows in one batch, counted with ``WireValue/approximateSize``.
    private static let batchBytes = 64 << 10
    private static let batchRows = 512
    /// Reads that are made while rows are received, within each other.
    private static let maximumNesting = 4

    private let end: ContinuousClock.Instant
    private let state = Mutex(State())
    private let arrival = DispatchSemaphore(value: 0)

    let isOfCaller: Bool

    init(until end: ContinuousClock.Instant, isOfCaller: Bool) {
        self.end = end
        self.isOfCaller = isOfCaller
    }

    /// Holds a snapshot open until it is closed; `whenOver` is called then.
    ///
    /// As a streamed read, which has a connection and a thread of its own: a read at once has its caller's thread and one of
    /// few connections, neither of which may wait for a worker.
    func hold(_ records: any RecordStore, whenOver: @escaping @Sendable () -> Void) {
        let end = end
        // Stores that cannot stream read on the task's thread.
        let task = Task(executorPreference: BlockingExecutor("worker.snapshot")) {
            do {
                let pieces = try await records.streamSnapshot(within: max(.zero, end - .now)) { snapshot, output in
                    try self.run(snapshot, output)
                }
                let isUnwanted = self.state.withLock { state in
                    state.pieces = pieces
                    return state.isBrokenOff || state.isWithdrawn
                }
                if isUnwanted { pieces.cancel() }
                while try await pieces.next() != nil {}
                self.finish(.success(()))
            } catch {
                self.finish(.failure(error))
            }
            whenOver()
        }
        let isUnwanted = state.withLock { state in
            state.task = task
            return state.isBrokenOff || state.isWithdrawn
        }
        if isUnwanted { task.cancel() }
    }

    /// Returns when the store has begun to read.
    func position() async throws -> Revision {
        try await withCheckedThrowingContinuation { continuation in
            let known = state.withLock { state -> Result<Revision, any Error>? in
                if let position = state.position { return .success(position) }
                if let over = state.isOver {
                    return over.flatMap {
                        .failure(PorticoError(.adapterUnavailable, "The snapshot is not open any more."))
                    }
                }
                state.opener = continuation
                return nil
            }
            if let known { continuation.resume(with: known) }
        }
    }

    func read(_ operation: String, _ map: MessageMap) async throws -> WireValue {
        try await withCheckedThrowingContinuation { continuation in
            let over = state.withLock { state -> Result<Void, any Error>? in
                if state.isOver == nil {
                    state.reads.append(Read(operation: operation, map: map, reply: continuation))
                }
                return state.isOver
            }
            guard let over else {
                arrival.signal()
                return
            }
            continuation.resume(
                with: over.flatMap { .failure(PorticoError(.deadlineExceeded, "The snapshot is not open any more.")) })
        }
    }

    func close() {
        state.withLock { $0.isClosed = true }
        arrival.signal()
    }

    /// Ends it whatever it reads: its place is for another adapter's.
    func breakOff() { end { $0.isBrokenOff = true } }

    /// Ends it whatever it reads: the call is over in whose course it was opened, or it was not wanted before it had opened.
    func withdraw() { end { $0.isWithdrawn = true } }

    private func end(_ note: (inout State) -> Void) {
        let (pieces, task) = state.withLock { state in
            note(&state)
            return (state.pieces, state.task)
        }
        // It may wait for the store still, or the store reads for it.
        task?.cancel()
        pieces?.cancel()
        arrival.signal()
    }

    fileprivate static let brokenOff = PorticoError(
        .overloaded, "The snapshot was ended because other adapters waited for one.", retryAfter: 1)

    private func finish(_ result: Result<Void, any Error>) {
        let (reads, opener, result) = state.withLock { state in
            let result = state.isBrokenOff ? .failure(Self.brokenOff) : result
            state.isOver = result
            defer { (state.reads, state.opener, state.pieces) = ([], nil, nil) }
            return (state.reads, state.opener, result)
        }
        let gone = PorticoError(.deadlineExceeded, "The snapshot is not open any more.")
        for read in reads { read.reply.resume(with: result.flatMap { .failure(gone) }) }
        opener?.resume(with: result.flatMap { .failure(gone) })
    }

    // MARK: On the store's thread

    private struct Closed: Error {}
    private struct RowsEnded: Error {}

    private func run(_ snapshot: any RecordSnapshot, _ output: any ChunkOutput) throws {
        let (opener, isAgain) = state.withLock { state in
            state.position = snapshot.position
            state.runs += 1
            defer { state.opener = nil }
            return (state.opener, state.runs > 1)
        }
        opener?.resume(returning: snapshot.position)
        do {
            if isAgain { try begin(snapshot) }
            while true { try perform(try next(), snapshot, output, nesting: 0) }
        } catch is Closed {}
    }

    /// The store has broken its reads off: the worker has to know before it reads again.
    private func begin(_ snapshot: any RecordSnapshot) throws {
        while true {
            let read = try next()
            if read.operation == "begin" {
                return read.reply.resume(returning: ["position": snapshot.position.message])
            }
            read.reply.resume(throwing: SnapshotRestarted())
        }
    }

    private func next() throws -> Read {
        while true {
            let (read, isClosed) = try state.withLock { state in
                if state.isBrokenOff { throw Self.brokenOff }
                if state.isWithdrawn { throw Closed() }
                return (state.reads.isEmpty ? nil : state.reads.removeFirst(), state.isClosed)
            }
            if let read { return read }
            if isClosed { throw Closed() }
            let left = end - .now
            guard left > .zero, arrival.wait(timeout: .now() + left / .seconds(1)) == .success else {
                throw PorticoError(.deadlineExceeded, "The snapshot was open for too long.")
            }
        }
    }

    private func perform(
        _ read: Read, _ snapshot: any RecordSnapshot, _ output: any ChunkOutput, nesting: Int
    ) throws {
        if read.operation == "rows" { return try rows(read, snapshot, output, nesting: nesting) }
        do {
            read.reply.resume(returning: try value(read, snapshot, output))
        } catch {
            try fail(read.reply, error)
        }
    }

    /// Fails a read: what the store throws on its own behalf goes back to it; what is said to the asker goes to the worker.
    private func fail(_ reply: CheckedContinuation<WireValue, any Error>, _ error: any Error) throws {
        switch error {
        case is PorticoError, is MessageError: reply.resume(throwing: error)
        default:
            reply.resume(throwing: error is CancellationError ? error : SnapshotRestarted())
            throw error
        }
    }

    private func value(
        _ read: Read, _ snapshot: any RecordSnapshot, _ output: any ChunkOutput
    ) throws -> WireValue {
        switch read.operation {
        case "commit":
            // A piece has left, so the store learns that it cannot begin again.
            try output.send([0])
            return .null
        case "begin": return ["position": snapshot.position.message]
        default:
            guard let value = try snapshot.answer(read.operation, read.map) else {
                throw MessageError("there is no such read here", at: "read")
            }
            return value
        }
    }

    /// The rows in batches: the next one when it is asked for.
    private func rows(
        _ read: Read, _ snapshot: any RecordSnapshot, _ output: any ChunkOutput, nesting: Int
    ) throws {
        var reply: CheckedContinuation<WireValue, any Error>? = read.reply
        var (batch, bytes): ([WireValue], Int) = ([], 0)
        do {
            guard nesting < Self.maximumNesting else {
                throw PorticoError(.requestLimitExceeded, "Too many reads within each other.")
            }
            try snapshot.rows(try read.map("relation")) { row in
                var values: [WireValue] = []
                for column in 0..<row.count { values.append(try row[column]) }
                bytes += values.reduce(0) { $0 + $1.approximateSize }
                batch.append(.array(values))
                guard batch.count == Self.batchRows || bytes >= Self.batchBytes else { return }
                reply?.resume(returning: ["rows": .array(batch), "isLast": false])
                (reply, batch, bytes) = (nil, [], 0)
                while reply == nil {
                    let next = try next()
                    switch next.operation {
                    case "moreRows": reply = next.reply
                    case "endRows":
                        next.reply.resume(returning: .null)
                        throw RowsEnded()
                    default: try perform(next, snapshot, output, nesting: nesting + 1)
                    }
                }
            }
            reply?.resume(returning: ["rows": .array(batch), "isLast": true])
        } catch is RowsEnded {
        } catch let error as Closed {
            throw error
        } catch {
            guard let reply else { throw error }
            try fail(reply, error)
        }
    }
}

extension RecordSnapshot {
    /// A read of a worker that has one result; nil: it is none.
    func answer(_ read: String, _ map: MessageMap) throws -> WireValue? {
        switch read {
        case "record": try record(try map("id"), in: try map("entity")).message
        case "query": try query(try map("query"), in: try map("entity")).message
        case "count": try count(try map.optional("filter"), in: try map("entity")).message
        case "cursor": try changeCursor(of: try map("entities")).message
        case "changes":
            try changes(of: try map("entities"), since: try map("since"), limit: try map("limit")).message
        default: nil
        }
    }
}
