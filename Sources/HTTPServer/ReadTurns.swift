import AdapterKit
import Admission
import NIOCore
import Synchronization

/// Which connections of an event loop are read next: turns by account, so that one account's many connections do not keep the
/// loop from another's. On the loop.
///
/// A loop serves what is readable in the order in which the system names it, so that behind six hundred connections of one
/// account each request of another would wait for six hundred readings. The connections of an account that has more than
/// ``perRound`` on the loop are read in rounds of so many; between two rounds the loop looks at all others.
///
/// Why it is there: docs/decisions/0534-read-connections-in-turns-by-account.md.
final class ReadTurns {
    /// Connections of one account that are read between two looks at all others.
    static let perRound = 8
    /// Time until the next round; what becomes readable meanwhile comes before it. A loop runs tasks without a time until none is
    /// left, and would not look.
    static let pause = TimeAmount.microseconds(50)

    private typealias Waiting = (connection: HTTP1ConnectionHandler, account: CallerIdentity)

    private let loop: any EventLoop
    private var connections: [CallerIdentity: Int] = [:]
    private var waiting = AccountTurns<Waiting>(perAccount: perRound)
    /// The accounts of what was read in the round before, each as often as it was.
    private var read: [CallerIdentity] = []
    private var isRoundDue = false

    init(loop: any EventLoop) {
        self.loop = loop
    }

    /// A connection is an account's from now on; nil: of none that is known.
    func connection(of old: CallerIdentity?, becomesOneOf new: CallerIdentity?) {
        guard old != new else { return }
        if let old, let count = connections[old] { connections[old] = count > 1 ? count - 1 : nil }
        if let new { connections[new, default: 0] += 1 }
    }

    /// Whether connections of the account wait for their turns to be read.
    func isCrowded(by account: CallerIdentity) -> Bool { connections[account, default: 0] > Self.perRound }

    /// Has the connection read when its turn comes. A connection waits once at most.
    func wait(for connection: HTTP1ConnectionHandler, of account: CallerIdentity) {
        waiting.append((connection, account), for: account)
        callRound()
    }

    private func callRound() {
        guard !isRoundDue else { return }
        isRoundDue = true
        loop.assumeIsolated().scheduleTask(in: Self.pause) { self.round() }
    }

    private func round() {
        isRoundDue = false
        for account in read { waiting.end(for: account) }
        read.removeAll(keepingCapacity: true)
        while let next = waiting.next() {
            read.append(next.account)
            next.connection.readTurnCame()
        }
        // What was read ends with the next round, whether anything waits by then or not.
        if !read.isEmpty { callRound() }
    }
}

@available(*, unavailable)
extension ReadTurns: Sendable {}

/// The turns of each event loop of a server.
final class LoopReadTurns: Sendable {
    private let loops = Mutex<[ObjectIdentifier: NIOLoopBound<ReadTurns>]>([:])

    /// On the loop.
    func turns(on loop: any EventLoop) -> ReadTurns {
        loops.withLock { loops in
            if let known = loops[ObjectIdentifier(loop)] { return known }
            let turns = NIOLoopBound(ReadTurns(loop: loop), eventLoop: loop)
            loops[ObjectIdentifier(loop)] = turns
            return turns
        }.value
    }
}
