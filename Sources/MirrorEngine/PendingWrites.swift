import AdapterKit
import RecordStorage

/// Which pending writes of one mirror are sent when: a state machine that does nothing itself.
///
/// Writes of one record are sent in their order, each when the one before has ended; those of several records side by
/// side. A write that was not made is sent again later. Where the other system honours keys, so is one whose outcome is
/// unknown. Where it honours none, such a write is only looked for, and stays unknown where that finds nothing.
public struct PendingWrites: Sendable {
    /// Writes and reads that are under way at most.
    public static let mostUnderWay = 16
    private static let backoff = Backoff(first: 1, longest: 300)
    /// How often a write is looked for before it stays unknown.
    public static let mostReadBacks = 3

    /// What is to be done next; it counts as begun.
    public enum Next: Sendable, Equatable {
        /// The write is to be sent.
        case send(RecordID)
        /// The record is to be read back, to find out whether the write was made.
        case readBack(RecordID)
        /// Nothing before this instant, unless something ends or is added.
        case wait(until: WireDate?)
    }

    /// How sending ended.
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

    /// What becomes of a write that was sent or looked for.
    public enum Step: Sendable, Equatable {
        /// It is made and goes.
        case settle
        /// It was refused and goes from here; its record stays for its author.
        case refuse
        /// It goes: nothing was made, and its caller has been waiting for that answer.
        case giveUp
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
        let record: RecordID
        let position: Int64
        let isThrough: Bool
        var phase = Phase.waiting
        var failures = 0
        var due: WireDate?

        var isUnderWay: Bool {
            switch phase {
            case .sending, .readingBack: true
            case .waiting, .lost, .unknown: false
            }
        }
    }

    /// Of the other system.
    public let honoursKeys: Bool
    private var writes: [RecordID: Write] = [:]
    /// Ids in the order of their positions.
    private var byRecord: [RecordID: [RecordID]] = [:]
    /// First writes of their records that can begin, by their turn. An id may be stale.
    private var ready: [RecordID] = []
    private var delayed: Set<RecordID> = []
    private var nextDue: WireDate?
    private var underWay = 0

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

    /// Takes a write. `wasSent`: it may have been sent before the process began. `isUnknown`: it stays unknown.
    public mutating func add(
        _ id: RecordID, of record: RecordID, at position: Int64, isThrough: Bool = false, wasSent: Bool = false,
        isUnknown: Bool = false
    ) {
        guard writes[id] == nil else { return }
        var write = Write(record: record, position: position, isThrough: isThrough)
        if isUnknown {
            write.phase = .unknown
            unknown += 1
        } else if wasSent, !honoursKeys {
            write.phase = .lost(0)
        }
        writes[id] = write
        var queue = byRecord[record] ?? []
        var index = queue.firstIndex { writes[$0].map { $0.position > position } ?? false } ?? queue.count
        // One that comes late does not overtake what is under way.
        if index == 0, let first = queue.first, writes[first]?.isUnderWay ?? false { index = 1 }
        queue.insert(id, at: index)
        byRecord[record] = queue
        if index == 0 { ready.append(id) }
    }

    /// What is to be done now.
    public mutating func next(at now: WireDate) -> Next {
        wakeDelayed(at: now)
        while underWay < Self.mostUnderWay, !ready.isEmpty {
            let id = ready.removeFirst()
            guard var write = writes[id], byRecord[write.record]?.first == id, !delayed.contains(id) else { continue }
            switch write.phase {
            case .waiting:
                write.phase = .sending
                writes[id] = write
                underWay += 1
                return .send(id)
            case .lost(let count):
                write.phase = .readingBack(count)
                writes[id] = write
                underWay += 1
                return .readBack(id)
            case .sending, .readingBack, .unknown: continue
            }
        }
        return .wait(until: underWay < Self.mostUnderWay ? nextDue : nil)
    }

    /// Sending has ended. `random` is from 0 to 1. `isAwaited`: a caller waits for it.
    public mutating func sent(
        _ id: RecordID, _ outcome: Sent, isAwaited: Bool = false, at now: WireDate, random: Double
    ) -> Step {
        guard var write = writes[id], write.phase == .sending else { return .settle }
        underWay -= 1
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
            write.phase = .lost(0)
            writes[id] = write
            ready.append(id)
            return .readBack
        case .notMade, .unknown:
            write.phase = .waiting
            delay(id, write, at: now, random)
            return .sendAgain
        }
    }

    /// Looking for a write has ended. `isMade`: the record is as the write wanted it.
    public mutating func readBack(_ id: RecordID, isMade: Bool, at now: WireDate, random: Double) -> Step {
        guard var write = writes[id], case .readingBack(let count) = write.phase else { return .settle }
        underWay -= 1
        if isMade {
            remove(id)
            return .settle
        }
        guard count + 1 < Self.mostReadBacks else {
            write.phase = .unknown
            unknown += 1
            writes[id] = write
            return .staysUnknown
        }
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
        write.due = nil
        writes[id] = write
        delayed.remove(id)
        if byRecord[write.record]?.first == id { ready.append(id) }
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
        var queue = byRecord[write.record] ?? []
        queue.removeAll { $0 == id }
        byRecord[write.record] = queue.isEmpty ? nil : queue
        if let first = queue.first { ready.append(first) }
    }

    private mutating func delay(_ id: RecordID, _ write: Write, at now: WireDate, _ random: Double) {
        var write = write
        let due = now.adding(Self.backoff.seconds(after: write.failures, random: random))
        write.failures += 1
        write.due = due
        writes[id] = write
        delayed.insert(id)
        nextDue = min(nextDue ?? due, due)
    }

    private mutating func wakeDelayed(at now: WireDate) {
        guard let due = nextDue, due <= now else { return }
        nextDue = nil
        for id in delayed.sorted(by: { writes[$0]?.position ?? 0 < writes[$1]?.position ?? 0 }) {
            guard let due = writes[id]?.due else { continue }
            if due <= now {
                delayed.remove(id)
                ready.append(id)
            } else {
                nextDue = min(nextDue ?? due, due)
            }
        }
    }
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
