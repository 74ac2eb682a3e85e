import AdapterKit
import DequeModule
import Foundation
import Synchronization

/// Threads with a connection each, which run closures one after the other.
///
/// Never on the cooperative pool: two blocked reads would stop a process that has two cores.
final class ConnectionPool: Sendable {
    typealias Job = @Sendable (ConnectionSlot) -> Void

    private struct State {
        var jobs: Deque<Job> = []
        var isClosed = false
        var threads: Int
        var ended: [CheckedContinuation<Void, Never>] = []
    }

    private let state: Mutex<State>
    private let condition = NSCondition()
    /// Jobs that wait at most.
    private let limit: Int

    init(threads: Int, limit: Int, name: String, _ connector: Connector) {
        state = Mutex(State(threads: threads))
        self.limit = limit
        for _ in 0..<threads {
            let thread = Thread { [self] in run(ConnectionSlot(connector)) }
            thread.name = name
            thread.stackSize = 8 << 20
            thread.start()
        }
    }

    /// Throws `server.overloaded` and `store.unavailable`; the job runs then never.
    func submit(_ job: @escaping Job) throws(PorticoError) {
        let refusal: PorticoError? = state.withLock { state in
            if state.isClosed { return .closed }
            guard state.jobs.count < limit else {
                return PorticoError(.overloaded, "Too many reads wait for the store.", retryAfter: 1)
            }
            state.jobs.append(job)
            return nil
        }
        if let refusal { throw refusal }
        condition.lock()
        condition.signal()
        condition.unlock()
    }

    /// Returns when what was submitted before has been run and all connections have ended.
    func close() async {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                state.isClosed = true
                guard state.threads > 0 else { return true }
                state.ended.append(continuation)
                return false
            }
            if isOver { continuation.resume() }
            condition.lock()
            condition.broadcast()
            condition.unlock()
        }
    }

    private func run(_ slot: ConnectionSlot) {
        while let job = next() {
            job(slot)
            slot.discardIfUseless()
        }
        slot.drop()
        let ended = state.withLock { state in
            state.threads -= 1
            return state.threads == 0 ? state.ended : []
        }
        for continuation in ended { continuation.resume() }
    }

    private func next() -> Job? {
        condition.lock()
        defer { condition.unlock() }
        while true {
            let (job, isClosed) = state.withLock { ($0.jobs.popFirst(), $0.isClosed) }
            if let job { return job }
            if isClosed { return nil }
            condition.wait()
        }
    }
}

/// Opens the connections of a store, and makes all of them end together.
final class Connector: Sendable {
    private let open: @Sendable (ContinuousClock.Instant) throws -> Connection
    private let generation = Atomic<Int>(0)
    let connections = Atomic<Int>(0)

    /// Time for which a lost connection is made anew before its caller is refused.
    private static let reconnection: Duration = .seconds(1)
    private static let pause: TimeInterval = 0.05

    init(_ open: @escaping @Sendable (ContinuousClock.Instant) throws -> Connection) {
        self.open = open
    }

    var current: Int { generation.load(ordering: .acquiring) }

    /// Ends every connection before its next use: those to a server that was demoted answer reads for ever.
    func dropAll() { generation.add(1, ordering: .acquiringAndReleasing) }

    func connect() throws -> Connection {
        let deadline = ContinuousClock.now + Self.reconnection
        while true {
            do {
                let connection = try open(deadline)
                connections.add(1, ordering: .relaxed)
                return connection
            } catch let failure as PostgreSQLFailure where failure.state == nil && ContinuousClock.now < deadline {
                Thread.sleep(forTimeInterval: Self.pause)
            }
        }
    }
}

/// The place of one thread's connection.
final class ConnectionSlot {
    private let connector: Connector
    private var held: Connection?
    private var generation = 0

    init(_ connector: Connector) { self.connector = connector }

    /// Connects where there is none. Throws ``PostgreSQLFailure`` and ``PorticoError``.
    func connection() throws -> Connection {
        if generation != connector.current { drop() }
        if let held, !held.isBroken { return held }
        held = nil
        generation = connector.current
        let opened = try connector.connect()
        held = opened
        return opened
    }

    /// To be called with every failure: ends the connection, or all of them, where they are of no use any more.
    func note(_ error: any Error) {
        guard let failure = error as? PostgreSQLFailure else { return }
        if failure.isReadOnlyServer { connector.dropAll() }
        if failure.endsConnection { drop() }
    }

    func discardIfUseless() {
        if let held, held.isBroken { drop() }
    }

    func drop() { held = nil }
}
