import AdapterKit

/// Whose message is pushed next: authors take turns, the messages of one keep their order. A state machine without tasks.
///
/// It also knows up to which log position everything was pushed.
package struct PushTurns<Job: Sendable>: Sendable {
    /// Authors whose messages are pushed at once.
    package static var senders: Int { 64 }
    /// Messages of one author that wait; the oldest are left out for more.
    package static var waitingOfAuthor: Int { 1_000 }

    package struct Turn: Sendable {
        package let job: Job
        fileprivate let author: String
        fileprivate let position: Revision
    }

    private var waiting: [String: [(job: Job, position: Revision)]] = [:]
    /// Authors who have a message waiting and none under way, in the order of their turns.
    private var ring: [String] = []
    private var underWay: Set<String> = []
    private var startedSenders = 0
    /// Positions that were read and are not done, ascending.
    private var undone: [Revision] = []
    private var read = Revision(0)
    private var kept = Revision(0)

    package init() {}

    /// Positions come in their order. Returns whether an older message of the author is left out for it.
    package mutating func append(_ job: Job, of author: String, at position: Revision) -> Bool {
        undone.append(position)
        let isFirst = waiting[author, default: []].isEmpty
        waiting[author, default: []].append((job, position))
        if isFirst, !underWay.contains(author) { ring.append(author) }
        guard waiting[author, default: []].count > Self.waitingOfAuthor,
            let oldest = waiting[author]?.removeFirst()
        else { return false }
        remove(oldest.position)
        return true
    }

    /// All messages up to there were appended.
    package mutating func noteReached(_ position: Revision) { read = max(read, position) }

    /// Takes the number of further senders that there is work for. Each calls ``next()`` until that returns nil.
    package mutating func takeSenders() -> Int {
        let count = min(ring.count, Self.senders - startedSenders)
        startedSenders += count
        return count
    }

    /// The message that is pushed now. ``end(_:)`` is to be called after it. Nil ends the sender.
    package mutating func next() -> Turn? {
        guard !ring.isEmpty else {
            startedSenders -= 1
            return nil
        }
        let author = ring.removeFirst()
        underWay.insert(author)
        let (job, position) = waiting[author, default: []].removeFirst()
        if waiting[author, default: []].isEmpty { waiting[author] = nil }
        return Turn(job: job, author: author, position: position)
    }

    /// The position up to which everything is done, where that is further than what was returned before.
    package mutating func end(_ turn: Turn) -> Revision? {
        underWay.remove(turn.author)
        if waiting[turn.author] != nil { ring.append(turn.author) }
        remove(turn.position)
        let done = undone.first.map { Revision($0.number - 1) } ?? read
        guard done > kept else { return nil }
        kept = done
        return done
    }

    private mutating func remove(_ position: Revision) {
        if let index = undone.firstIndex(of: position) { undone.remove(at: index) }
    }
}
