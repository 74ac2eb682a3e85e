import AdapterKit
import RecordStorage

/// Which pending writes of one mirror are sent when: a state machine that does nothing itself.
///
/// Writes of one record are sent in their order, each when the one before has ended; those of several records side by
/// side. Next is the author with the fewest under way, and one place is always left for another. A write that was not made
/// is sent again later, and is refused where that goes on for too long. Where the other system honours keys, a write whose
/// outcome is unknown is sent again too, for an hour at most. Where it honours none, such a write is only looked for. Where
/// that finds nothing it stays unknown, and holds up its record until an operator decides or its lock ends.
public struct PendingWrites: Sendable {
    /// Writes and reads that are under way at most.
    public static let mostUnderWay = 16
    /// Writes of one author under way, at most.
    public static let mostOfAuthor = mostUnderWay - 1
    /// Times that a write is sent whose outcome stays unknown, where the other system honours keys.
    public static let mostLosses = 10
    /// Seconds for which it is sent again.
    public static let longestLoss = 3_600.0
    /// Seconds for which a write is sent again that is not made, from when it was asked for.
    public static let longestWait = 7 * 86_400.0
    private static let backoff = Backoff(first: 1, longest: 300)
    /// Times that a write is looked for before it stays unknown.
    public static let mostReadBacks = 3

    /// The next thing to do; it counts as begun.
    public enum Next: Sendable, Equatable {
        /// The write is to be sent.
        case send(RecordID)
        /// The record is to be read back, to find out whether the write was made.
        case readBack(RecordID)
        /// Nothing before this instant, unless something ends or is added.
        case wait(until: WireDate?)
    }

    /// The end of a sending.
    public enum Sent: Sendable, Equatable {
        /// The other system has made it.
        case made
        /// The other system refused it for good.
        case refused
        /// It was not made, and may be sent again.
        case notMade
        /// Whether it was made cannot be known.
        case unknown
    }

    /// The step that follows for a write that was sent or looked for.
    public enum Step: Sendable, Equatable {
        /// It is made and goes.
        case settle
        /// It was refused and goes from here; its record stays for its author.
        case refuse
        /// It goes: nothing was made, and its caller has been waiting for that answer.
        case giveUp
        /// It was not made for too long. It goes from here; its record stays for its author.
        case expire
        /// It is sent again later. Nothing of it is under way.
        case sendAgain
        /// It is looked for.
        case readBack
        /// It stays unknown until an operator decides.
        case staysUnknown
    }

    private enum Phase: Equatable {
        case waiting
        case sending
        /// It was sent, and is looked for for the so manieth time.
        case lost(Int)
        case readingBack(Int)
        case unknown
    }

    private struct Write {
        var record: RecordID
        let author: String
        let position: Int64
        let isThrough: Bool
        let created: WireDate?
        var phase = Phase.waiting
        var failures = 0
        var losses = 0
        var lost: WireDate?
        var due: WireDate?

        func isLostForTooLong(at now: WireDate) -> Bool {
            guard let lost else { return false }
            return losses >= PendingWrites.mostLosses || lost.adding(PendingWrites.longestLoss) <= now
        }

        var isUnderWay: Bool {
            switch phase {
            case .sending, .readingBack: true
            case .waiting, .lost, .unknown: false
            }
        }
    }

    /// Whether the other system honours keys of idempotency.
    public let honoursKeys: Bool
    private var writes: [RecordID: Write] = [:]
    /// Ids in the order of their positions.
    private var byRecord: [RecordID: [RecordID]] = [:]
    /// Records that are moving: writes of the old id that come meanwhile are those of the new one.
    private var moving: [RecordID: RecordID] = [:]
    /// First writes of their records that can begin.
    private var ready = TurnsByAuthor()
    private var delayed: Set<RecordID> = []
    private var nextDue: WireDate?

    /// `honoursKeys`: of the other system (``MirrorSource/honoursIdempotencyKeys``).
    public init(honoursKeys: Bool) {
        self.honoursKeys = honoursKeys
    }

    /// Writes that are not unknown.
    public var pending: Int { writes.count - unknown }
    /// Writes that stay unknown.
    public private(set) var unknown = 0
    /// Whether a write is known here.
    public func contains(_ id: RecordID) -> Bool { writes[id] != nil }

    /// Takes a write. `created`: when it was asked for. `wasSent`: it may have been sent before the process began.
    /// `isUnknown`: it stays unknown.
    public mutating func add(
        _ id: RecordID, of record: RecordID, by author: String = "", at position: Int64, isThrough: Bool = false,
        created: WireDate? = nil, wasSent: Bool = false, isUnknown: Bool = false
    ) {
        var write = Write(
            record: record, author: author, position: position, isThrough: isThrough, created: created)
        if isUnknown { write.phase = .unknown } else if wasSent, !honoursKeys { write.phase = .lost(0) }
        add(id, write)
    }

    /// Takes a write that the store has.
    mutating func add(_ write: PendingWrite, mayHaveBeenSent: Bool) {
        var taken = Write(
            record: write.record, author: write.author, position: write.position, isThrough: write.isThrough,
            created: write.created)
        (taken.losses, taken.lost) = (write.losses, write.lost)
        if write.state == .unknown {
            taken.phase = .unknown
            taken.due = write.lockEnds
        } else if mayHaveBeenSent, !honoursKeys {
            taken.phase = .lost(0)
        }
        add(write.id, taken)
    }

    private mutating func add(_ id: RecordID, _ added: Write) {
        guard writes[id] == nil else { return }
        var write = added
        write.record = moving[write.record] ?? write.record
        if write.phase == .unknown { unknown += 1 }
        writes[id] = write
        enqueue(id, write)
        if let due = write.due { wait(for: id, until: due) }
    }

    private mutating func enqueue(_ id: RecordID, _ write: Write) {
        var queue = byRecord[write.record] ?? []
        var index = queue.firstIndex { writes[$0].map { $0.position > write.position } ?? false } ?? queue.count
        // One that comes late does not overtake what is under way.
        if index == 0, let first = queue.first, writes[first]?.isUnderWay ?? false { index = 1 }
        queue.insert(id, at: index)
        byRecord[write.record] = queue
        if index == 0 { ready.add(id, of: write.author) }
    }

    /// The next thing to do.
    public mutating func next(at now: WireDate) -> Next {
        wakeDelayed(at: now)
        while let id = ready.next() {
            guard var write = writes[id], byRecord[write.record]?.first == id, !delayed.contains(id) else { continue }
            switch write.phase {
            case .waiting:
                write.phase = .sending
                writes[id] = write
                ready.begin(of: write.author)
                return .send(id)
            case .lost(let count):
                write.phase = .readingBack(count)
                writes[id] = write
                ready.begin(of: write.author)
                return .readBack(id)
            case .sending, .readingBack, .unknown: continue
            }
        }
        return .wait(until: ready.isFull ? nil : nextDue)
    }

    /// Sending has ended. `random` is from 0 to 1. `isAwaited`: a caller waits for it.
    public mutating func noteSent(
        _ id: RecordID, _ outcome: Sent, isAwaited: Bool = false, at now: WireDate, random: Double
    ) -> Step {
        guard var write = writes[id], write.phase == .sending else { return .settle }
        ready.end(of: write.author)
        switch outcome {
        case .made:
            remove(id)
            return .settle
        case .refused:
            remove(id)
            return .refuse
        case .notMade where write.isThrough && isAwaited && write.failures == 0:
            remove(id)
            return .giveUp
        case .unknown where !honoursKeys:
            write.lost = write.lost ?? now
            write.phase = .lost(0)
            writes[id] = write
            ready.add(id, of: write.author)
            return .readBack
        case .unknown:
            write.losses += 1
            write.lost = write.lost ?? now
            return goOn(id, write, at: now, random)
        case .notMade: return goOn(id, write, at: now, random)
        }
    }

    private mutating func goOn(_ id: RecordID, _ write: Write, at now: WireDate, _ random: Double) -> Step {
        var write = write
        write.phase = .waiting
        if write.lost != nil {
            guard !write.isLostForTooLong(at: now) else { return staysUnknown(id, write, at: now) }
        } else if let created = write.created, created.adding(Self.longestWait) <= now {
            remove(id)
            return .expire
        }
        delay(id, write, at: now, random)
        return .sendAgain
    }

    private mutating func staysUnknown(_ id: RecordID, _ write: Write, at now: WireDate) -> Step {
        var write = write
        write.phase = .unknown
        write.due = (write.lost ?? now).adding(PendingWriteRecords.longestLock)
        unknown += 1
        writes[id] = write
        if let due = write.due { wait(for: id, until: due) }
        return .staysUnknown
    }

    /// A record of which a write is under way gets another id: to be called before that is durable, and
    /// ``noteMoved(_:)`` afterwards. Its writes are those of the new id from now on, in their order.
    public mutating func move(_ record: RecordID, to new: RecordID) {
        guard record != new else { return }
        moving[record] = new
        let ids = byRecord.removeValue(forKey: record) ?? []
        for id in ids {
            writes[id]?.record = new
            // What is under way is first.
            var queue = byRecord[new] ?? []
            let isUnderWay = writes[id]?.isUnderWay ?? false
            let position = writes[id]?.position ?? 0
            let first = queue.firstIndex { writes[$0].map { !$0.isUnderWay && $0.position > position } ?? false }
            queue.insert(id, at: isUnderWay ? 0 : first ?? queue.count)
            byRecord[new] = queue
        }
        if let first = byRecord[new]?.first, let write = writes[first] { ready.add(first, of: write.author) }
    }

    /// It is durable that the record has another id.
    public mutating func noteMoved(_ record: RecordID) { moving[record] = nil }

    /// Looking for a write has ended. `isMade`: the record is as the write wanted it.
    public mutating func readBack(_ id: RecordID, isMade: Bool, at now: WireDate, random: Double) -> Step {
        guard var write = writes[id], case .readingBack(let count) = write.phase else { return .settle }
        ready.end(of: write.author)
        if isMade {
            remove(id)
            return .settle
        }
        guard count + 1 < Self.mostReadBacks else { return staysUnknown(id, write, at: now) }
        // That it is not there yet does not say that it will not come.
        write.phase = .lost(count + 1)
        delay(id, write, at: now, random)
        return .readBack
    }

    /// An operator has it sent again. False where it is under way or not here.
    public mutating func retry(_ id: RecordID) -> Bool {
        guard var write = writes[id] else { return false }
        switch write.phase {
        case .sending, .readingBack, .lost: return false
        case .unknown: unknown -= 1
        case .waiting: break
        }
        write.phase = .waiting
        (write.due, write.lost, write.losses) = (nil, nil, 0)
        writes[id] = write
        delayed.remove(id)
        if !(byRecord[write.record]?.contains(id) ?? false) {
            enqueue(id, write)
        } else if byRecord[write.record]?.first == id {
            ready.add(id, of: write.author)
        }
        return true
    }

    /// Removes a write that is not under way. False where it is.
    public mutating func drop(_ id: RecordID) -> Bool {
        guard let write = writes[id] else { return true }
        switch write.phase {
        case .sending, .readingBack: return false
        case .unknown: unknown -= 1
        case .waiting, .lost: break
        }
        remove(id)
        return true
    }

    /// A caller waits no longer. True where nothing was sent: the write goes.
    public mutating func abandon(_ id: RecordID) -> Bool {
        guard let write = writes[id], write.phase == .waiting, write.failures == 0 else { return false }
        remove(id)
        return true
    }

    private mutating func remove(_ id: RecordID) {
        guard let write = writes.removeValue(forKey: id) else { return }
        delayed.remove(id)
        unlock(id, of: write.record)
    }

    /// Lets those behind it go on.
    private mutating func unlock(_ id: RecordID, of record: RecordID) {
        guard var queue = byRecord[record], let index = queue.firstIndex(of: id) else { return }
        queue.remove(at: index)
        byRecord[record] = queue.isEmpty ? nil : queue
        if let first = queue.first, let write = writes[first] { ready.add(first, of: write.author) }
    }

    private mutating func delay(_ id: RecordID, _ write: Write, at now: WireDate, _ random: Double) {
        var write = write
        let due = now.adding(Self.backoff.seconds(after: write.failures, random: random))
        write.failures += 1
        write.due = due
        writes[id] = write
        wait(for: id, until: due)
    }

    private mutating func wait(for id: RecordID, until due: WireDate) {
        delayed.insert(id)
        nextDue = min(nextDue ?? due, due)
    }

    private mutating func wakeDelayed(at now: WireDate) {
        guard let due = nextDue, due <= now else { return }
        nextDue = nil
        for id in delayed.sorted(by: { writes[$0]?.position ?? 0 < writes[$1]?.position ?? 0 }) {
            guard let write = writes[id], let due = write.due else { continue }
            guard due <= now else {
                nextDue = min(nextDue ?? due, due)
                continue
            }
            delayed.remove(id)
            if write.phase == .unknown { unlock(id, of: write.record) } else { ready.add(id, of: write.author) }
        }
    }
}

/// Whose turn it is: the author with the fewest writes under way, of those the one that has waited longest since its last.
struct TurnsByAuthor {
    private struct Author {
        /// An id may be stale, and stand here twice.
        var waiting: [RecordID] = []
        /// The number of those in `waiting` that have had their turn; they are removed now and then.
        var begun = 0
        var underWay = 0
        var lastTurn: UInt64 = 0

        var isIdle: Bool { underWay == 0 && begun == waiting.count }
    }

    private var authors: [String: Author] = [:]
    private var underWay = 0
    private var turn: UInt64 = 0

    var isFull: Bool { underWay >= PendingWrites.mostUnderWay }

    mutating func add(_ id: RecordID, of author: String) { authors[author, default: Author()].waiting.append(id) }

    /// The next that can begin; nil: none, or no place is left for those that wait.
    mutating func next() -> RecordID? {
        guard !isFull else { return nil }
        let free = authors.filter {
            $0.value.begun < $0.value.waiting.count && $0.value.underWay < PendingWrites.mostOfAuthor
        }
        let chosen = free.min {
            ($0.value.underWay, $0.value.lastTurn, $0.key) < ($1.value.underWay, $1.value.lastTurn, $1.key)
        }
        guard let chosen, var author = authors[chosen.key] else { return nil }
        let id = author.waiting[author.begun]
        author.begun += 1
        if author.begun > 100, author.begun * 2 > author.waiting.count {
            author.waiting = Array(author.waiting.dropFirst(author.begun))
            author.begun = 0
        }
        keep(author, chosen.key)
        return id
    }

    mutating func begin(of author: String) {
        underWay += 1
        turn += 1
        authors[author, default: Author()].underWay += 1
        authors[author, default: Author()].lastTurn = turn
    }

    mutating func end(of author: String) {
        underWay -= 1
        guard var known = authors[author] else { return }
        known.underWay -= 1
        keep(known, author)
    }

    private mutating func keep(_ author: Author, _ name: String) { authors[name] = author.isIdle ? nil : author }
}

extension MirrorChange {
    /// Whether a record that was read back is as the change wanted it.
    package func isMade(in record: MirrorRecord) -> Bool {
        switch (operation, record) {
        case (.delete, .absent): true
        case (.create, .found(let found)), (.replace, .found(let found)), (.update, .found(let found)):
            fields.allSatisfy { ($0.value).meansTheSame(as: found[$0.key] ?? .null) }
        case (_, .unavailable), (.delete, .found), (_, .absent): false
        }
    }
}
