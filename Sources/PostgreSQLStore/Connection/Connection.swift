import AdapterKit
import CLibPQ
import Foundation

/// One connection to a server, in pipeline mode and nonblocking. Belongs to one thread.
///
/// Statements are sent with ``send(_:)`` and answered together by ``synchronize(_:)``, which is one round trip. While it
/// waits it reads and writes both: a server whose answers no client reads stops reading, and both would wait for ever.
final class Connection {
    /// Limits of the time that an answer is waited for.
    struct WaitLimits {
        /// Nil: as long as the connection lives.
        var deadline: ContinuousClock.Instant?
        /// Whether the caller has gone.
        var isAbandoned: @Sendable () -> Bool = { false }
        /// Whether the server may be asked to break the statement off. A COMMIT is never: cancelled while it waits for a
        /// standby, it succeeds with a warning.
        var mayCancel = true
    }

    private enum Sent {
        case preparation(String)
        case statement
    }

    private let library: PorticoLibPQ
    private let handle: OpaquePointer
    private let warnings = UnsafeMutablePointer<Int>.allocate(capacity: 1)
    /// The names of prepared statements by their text.
    private var prepared: [String: String] = [:]
    private var named = 0
    /// Statements since the last synchronization.
    private var sent: [Sent] = []
    /// Statements before synchronizations that no caller has waited for yet.
    private var unread: [[Sent]] = []
    /// Synchronizations that were waited for.
    private(set) var roundTrips = 0
    /// Whether the connection is of no use any more.
    private(set) var isBroken = false

    /// Longest silence between two looks at whether the caller is there.
    private static let slice: Duration = .milliseconds(50)
    /// Time that the server has to break a statement off.
    private static let cancellation: Duration = .seconds(1)

    /// Connects. `parameters` as libpq names them; the value of `dbname` may be an address. Throws ``PostgreSQLFailure``.
    init(_ parameters: [(name: String, value: String)], until deadline: ContinuousClock.Instant) throws {
        guard let library = portico_libpq()?.pointee else {
            throw PorticoError(
                .storeUnavailable, "PostgreSQL's client library is not installed: install libpq5.",
                logDetail: String(cString: portico_libpq_problem()))
        }
        self.library = library
        handle = try Self.connect(library, parameters, until: deadline)
        warnings.initialize(to: 0)
        _ = library.setNoticeReceiver(
            handle, { count, _ in count?.assumingMemoryBound(to: Int.self).pointee += 1 }, warnings)
        guard library.setnonblocking(handle, 1) == 0, library.enterPipelineMode(handle) == 1 else {
            isBroken = true
            throw failure
        }
    }

    deinit {
        library.finish(handle)
        warnings.deallocate()
    }

    private static func connect(
        _ library: PorticoLibPQ, _ parameters: [(name: String, value: String)], until deadline: ContinuousClock.Instant
    ) throws -> OpaquePointer {
        let names = parameters.map { strdup($0.name) } + [nil]
        let values = parameters.map { strdup($0.value) } + [nil]
        defer { for text in names + values { free(text) } }
        let started = names.map { UnsafePointer($0) }.withUnsafeBufferPointer { names in
            values.map { UnsafePointer($0) }.withUnsafeBufferPointer { values in
                library.connectStartParams(names.baseAddress, values.baseAddress, 1)
            }
        }
        guard let handle = started else { throw PostgreSQLFailure(state: nil, message: "no memory") }
        do {
            var state = PORTICO_PQ_POLLING_WRITING
            while true {
                switch state {
                case PORTICO_PQ_POLLING_OK: return handle
                case PORTICO_PQ_POLLING_FAILED:
                    throw PostgreSQLFailure(state: nil, message: Self.message(library, handle))
                default:
                    let events = state == PORTICO_PQ_POLLING_READING ? POLLIN : POLLOUT
                    guard wait(library.socket(handle), Int16(truncatingIfNeeded: events), until: deadline) != 0 else {
                        throw PostgreSQLFailure(state: nil, message: "no connection within the deadline")
                    }
                    state = Int(library.connectPoll(handle))
                }
            }
        } catch {
            library.finish(handle)
            throw error
        }
    }

    /// The events of the socket; 0 where the deadline passed first.
    private static func wait(_ socket: Int32, _ events: Int16, until deadline: ContinuousClock.Instant) -> Int16 {
        let left = max(.zero, deadline - ContinuousClock.now)
        let milliseconds = Int32(
            clamping:
                min(60_000, left.components.seconds * 1000 + left.components.attoseconds / 1_000_000_000_000_000 + 1))
        var entry = pollfd(fd: socket, events: events, revents: 0)
        return poll(&entry, 1, milliseconds) > 0 ? entry.revents : 0
    }

    private var failure: PostgreSQLFailure {
        PostgreSQLFailure(state: nil, message: Self.message(library, handle))
    }

    private static func message(_ library: PorticoLibPQ, _ handle: OpaquePointer) -> String {
        library.errorMessage(handle).map { String(cString: $0) } ?? ""
    }

    /// Warnings since the connection was opened.
    var warningCount: Int { warnings.pointee }

    /// Version in the form of `PQserverVersion`: 150003 is 15.3.
    var serverVersion: Int { Int(library.serverVersion(handle)) }

    func parameter(_ name: String) -> String? { library.parameterStatus(handle, name).map { String(cString: $0) } }
}

extension Connection {
    /// Sends a statement that is prepared with its first use. For texts of which there are few.
    func send(_ fragment: SQLFragment) throws {
        let name: String
        if let known = prepared[fragment.sql] {
            name = known
        } else {
            named += 1
            name = "s\(named)"
            let types = fragment.values.map(\.oid)
            try check(
                library.sendPrepare(handle, name, fragment.numbered, Int32(truncatingIfNeeded: types.count), types))
            prepared[fragment.sql] = name
            sent.append(.preparation(fragment.sql))
        }
        try withParameters(fragment.values) { values, lengths, formats in
            try check(
                library.sendQueryPrepared(
                    handle, name, Int32(truncatingIfNeeded: fragment.values.count), values, lengths, formats, 1))
        }
        sent.append(.statement)
    }

    func send(_ sql: String, _ values: [SQLValue] = []) throws { try send(SQLFragment(sql, values)) }

    /// Sends a statement that is planned for its values, and forgotten.
    func sendOnce(_ fragment: SQLFragment) throws {
        let types = fragment.values.map(\.oid)
        try withParameters(fragment.values) { values, lengths, formats in
            try check(
                library.sendQueryParams(
                    handle, fragment.numbered, Int32(truncatingIfNeeded: types.count), types, values, lengths, formats,
                    1))
        }
        sent.append(.statement)
    }

    private func check(_ result: Int32) throws {
        guard result == 1, !isBroken else {
            isBroken = true
            throw failure
        }
    }

    private func withParameters(
        _ values: [SQLValue],
        _ body: (UnsafePointer<UnsafePointer<CChar>?>?, UnsafePointer<Int32>?, UnsafePointer<Int32>?) throws -> Void
    ) throws {
        var buffer: [UInt8] = []
        var starts: [Int?] = []
        var lengths: [Int32] = []
        for value in values {
            let start = buffer.count
            value.write(to: &buffer)
            starts.append(value == .null ? nil : start)
            lengths.append(Int32(truncatingIfNeeded: buffer.count - start))
        }
        // A pointer to an empty value must not be null.
        buffer.append(0)
        let formats = [Int32](repeating: 1, count: values.count)
        try buffer.withUnsafeBytes { bytes in
            let base = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
            try starts.map { start in start.flatMap { base?.advanced(by: $0) } }.withUnsafeBufferPointer { pointers in
                try body(pointers.baseAddress, lengths, formats)
            }
        }
    }

    /// Ends what was sent as one unit without waiting for its answer, which the next synchronization reads.
    func synchronizeLater() throws {
        try check(library.pipelineSync(handle))
        unread.append(sent)
        sent = []
        if library.flush(handle) < 0 { isBroken = true }
    }

    /// Waits for what was sent, with one round trip; gives the rows of each statement, in order. The first failure is
    /// thrown once everything is read. Throws ``PostgreSQLFailure``.
    @discardableResult
    func synchronize(_ limits: WaitLimits) throws -> [SQLRows] {
        try check(library.pipelineSync(handle))
        unread.append(sent)
        sent = []
        roundTrips += 1
        var wait = Wait(limits)
        var answers: [SQLRows] = []
        while !unread.isEmpty { answers = try read(unread.removeFirst(), &wait, isLast: unread.isEmpty) }
        return answers
    }

    private func read(_ parts: [Sent], _ wait: inout Wait, isLast: Bool) throws -> [SQLRows] {
        var answers: [SQLRows] = []
        var first: PostgreSQLFailure?
        for part in parts {
            while let result = try next(&wait) {
                switch Int(library.resultStatus(result)) {
                case PORTICO_PQ_TUPLES_OK, PORTICO_PQ_COMMAND_OK:
                    let rows = SQLRows(result, library)
                    if case .statement = part { answers.append(rows) }
                case PORTICO_PQ_PIPELINE_ABORTED:
                    library.clear(result)
                    if case .preparation(let sql) = part { prepared[sql] = nil }
                default:
                    if first == nil { first = failure(of: result) }
                    library.clear(result)
                    if case .preparation(let sql) = part { prepared[sql] = nil }
                }
            }
        }
        guard let end = try next(&wait) else { throw broken(.lost) }
        let status = Int(library.resultStatus(end))
        library.clear(end)
        guard status == PORTICO_PQ_PIPELINE_SYNC else { throw broken(first ?? .lost) }
        if let first {
            if first.endsConnection { isBroken = true }
            if isLast { throw first }
        }
        return answers
    }

    private func broken(_ failure: PostgreSQLFailure) -> PostgreSQLFailure {
        isBroken = true
        return failure
    }

    private func failure(of result: OpaquePointer) -> PostgreSQLFailure {
        func field(_ code: Character) -> String? {
            library.resultErrorField(result, Int32(truncatingIfNeeded: code.asciiValue ?? 0)).map {
                String(cString: $0)
            }
        }
        return PostgreSQLFailure(
            state: field("C"), message: field("M") ?? Self.message(library, handle),
            constraint: field("n"))
    }

    /// The next result; nil: a statement's results have ended.
    private func next(_ wait: inout Wait) throws -> OpaquePointer? {
        while true {
            let unsent = library.flush(handle)
            if unsent < 0 { throw broken(failure) }
            if library.isBusy(handle) == 0 { return library.getResult(handle) }
            try look(&wait)
            let limit = min(wait.end ?? .now + Self.slice, .now + Self.slice)
            let events = Self.wait(
                library.socket(handle), Int16(truncatingIfNeeded: POLLIN | (unsent > 0 ? POLLOUT : 0)), until: limit)
            if events != 0, events & Int16(truncatingIfNeeded: POLLOUT) != events, library.consumeInput(handle) != 1 {
                throw broken(failure)
            }
        }
    }

    /// The state of one synchronization's waiting.
    private struct Wait {
        let limits: WaitLimits
        var end: ContinuousClock.Instant?
        var isCancelling = false

        init(_ limits: WaitLimits) {
            self.limits = limits
            end = limits.deadline
        }
    }

    private func look(_ wait: inout Wait) throws {
        let isLate = wait.end.map { ContinuousClock.now >= $0 } ?? false
        let isAbandoned = wait.limits.mayCancel && wait.limits.isAbandoned()
        guard isLate || isAbandoned && !wait.isCancelling else { return }
        if wait.isCancelling || !wait.limits.mayCancel {
            throw broken(PostgreSQLFailure(state: nil, message: "no answer within the deadline"))
        }
        wait.isCancelling = true
        wait.end = .now + Self.cancellation
        cancel()
    }

    /// Asks the server to break off what runs. On a thread of its own, since it connects anew, and may have to wait.
    private func cancel() {
        guard let request = library.getCancel(handle) else { return }
        let owned = CancelRequest(library: library, request: request)
        Thread.detachNewThread { owned.send() }
    }
}

/// A request to cancel, which libpq lets any thread send.
///
/// Unchecked, because the pointer is to a copy of the connection's address that nothing else refers to, and one thread
/// sends and frees it.
private struct CancelRequest: @unchecked Sendable {
    let library: PorticoLibPQ
    let request: OpaquePointer

    func send() {
        var message = [CChar](repeating: 0, count: 256)
        _ = library.cancel(request, &message, Int32(truncatingIfNeeded: message.count))
        library.freeCancel(request)
    }
}
