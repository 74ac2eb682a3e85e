import AdapterKit
import MirrorEngine
import RecordStorage
import Testing

/// The state machine of pending writes against another system that is made up of a ledger.
private struct PendingWriteModel {
    struct Generator: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }
    }

    /// What the store has of a write.
    struct Stored {
        let record: RecordID
        let position: Int64
        let isThrough: Bool
        var isAwaited: Bool
        var wasSent = false
        var isUnknown = false
    }

    let honoursKeys: Bool
    var generator: Generator
    var machine: PendingWrites
    var stored: [RecordID: Stored] = [:]
    /// How often each write took effect, in order.
    var ledger: [RecordID] = []
    /// The position of each record's last write that took effect.
    var effects: [RecordID: Int64] = [:]
    var underWay: [(id: RecordID, isReading: Bool)] = []
    var settled: Set<RecordID> = []
    var refused: Set<RecordID> = []
    var gaveUp: Set<RecordID> = []
    var staysUnknown: Set<RecordID> = []
    var lostAnswers: Set<RecordID> = []
    var problems: [String] = []
    var now = 0.0
    var last: Int64 = 0

    init(seed: UInt64, honoursKeys: Bool) {
        self.honoursKeys = honoursKeys
        generator = Generator(state: seed)
        machine = PendingWrites(honoursKeys: honoursKeys)
    }

    private func chance(_ share: Double, _ generator: inout Generator) -> Bool {
        Double.random(in: 0..<1, using: &generator) < share
    }

    private var instant: WireDate { WireDate(secondsSinceReferenceDate: now) }

    mutating func step() {
        switch Int.random(in: 0..<10, using: &generator) {
        case 0, 1: add()
        case 2: now += Double.random(in: 0..<5, using: &generator)
        case 3 where chance(0.2, &generator): restart()
        case 4...6: begin()
        default: end()
        }
        check()
    }

    private mutating func add() {
        last += 1
        let id = RecordID(unchecked: "w\(last)")
        let record = RecordID(unchecked: "r\(Int.random(in: 0..<4, using: &generator))")
        let isThrough = chance(0.3, &generator)
        stored[id] = Stored(record: record, position: last, isThrough: isThrough, isAwaited: isThrough)
        machine.add(id, of: record, at: last, isThrough: isThrough)
    }

    private mutating func begin() {
        while true {
            switch machine.next(at: instant) {
            case .send(let id):
                if !honoursKeys { stored[id]?.wasSent = true }
                underWay.append((id, false))
            case .readBack(let id): underWay.append((id, true))
            case .wait: return
            }
        }
    }

    /// The process ends and another one begins: what was under way may have arrived.
    private mutating func restart() {
        for (id, isReading) in underWay where !isReading && chance(0.5, &generator) { takeEffect(id) }
        underWay = []
        for id in stored.keys { stored[id]?.isAwaited = false }
        machine = PendingWrites(honoursKeys: honoursKeys)
        for (id, write) in stored.sorted(by: { $0.value.position < $1.value.position }) {
            machine.add(
                id, of: write.record, at: write.position, isThrough: write.isThrough, wasSent: write.wasSent,
                isUnknown: write.isUnknown)
        }
    }

    private mutating func takeEffect(_ id: RecordID) {
        if honoursKeys, ledger.contains(id) { return }
        guard let write = stored[id] else { return problems.append("\(id) is sent after it ended") }
        if let later = effects[write.record], later > write.position { problems.append("\(id) comes too late") }
        effects[write.record] = write.position
        ledger.append(id)
    }

    private mutating func end() {
        guard !underWay.isEmpty else { return }
        let (id, isReading) = underWay.remove(at: Int.random(in: 0..<underWay.count, using: &generator))
        let random = Double.random(in: 0..<1, using: &generator)
        if isReading {
            let isMade = ledger.contains(id) && chance(0.7, &generator)
            take(machine.readBack(id, isMade: isMade, at: instant, random: random), id)
            return
        }
        // With keys a write that took effect before is answered as it was then.
        let hasEffect = ledger.contains(id)
        let outcome: PendingWrites.Sent
        switch Int.random(in: 0..<10, using: &generator) {
        case 0 where !hasEffect: outcome = .refused
        case 1, 2:
            outcome = .notMade
            if !hasEffect { stored[id]?.wasSent = false }
        case 3:
            outcome = .unknown
            lostAnswers.insert(id)
            takeEffect(id)
        case 4:
            outcome = .unknown
            lostAnswers.insert(id)
        default:
            outcome = .made
            takeEffect(id)
        }
        take(machine.noteSent(id, outcome, isAwaited: stored[id]?.isAwaited ?? false, at: instant, random: random), id)
    }

    private mutating func take(_ step: PendingWrites.Step, _ id: RecordID) {
        switch step {
        case .settle:
            stored[id] = nil
            settled.insert(id)
        case .refuse, .expire:
            stored[id] = nil
            refused.insert(id)
        case .giveUp:
            stored[id] = nil
            gaveUp.insert(id)
        case .staysUnknown:
            stored[id]?.isUnknown = true
            staysUnknown.insert(id)
        case .sendAgain, .readBack: break
        }
    }

    private mutating func check() {
        for (record, group) in Dictionary(grouping: underWay.map(\.id), by: { stored[$0]?.record })
        where group.count > 1 {
            problems.append("two writes of \(record.map { "\($0)" } ?? "none") are under way")
        }
        if underWay.count > PendingWrites.mostUnderWay { problems.append("too many are under way") }
        if Set(ledger).count != ledger.count { problems.append("a write took effect twice") }
        for id in settled where !ledger.contains(id) { problems.append("\(id) is settled and took no effect") }
        for id in refused.union(gaveUp) where ledger.contains(id) {
            problems.append("\(id) took effect and is refused")
        }
        for id in staysUnknown where !lostAnswers.contains(id) && honoursKeys {
            problems.append("\(id) stays unknown though keys are honoured")
        }
    }

    /// Every answer arrives from now on.
    mutating func finish() {
        for _ in 0..<2_000 {
            begin()
            while let (id, isReading) = underWay.popLast() {
                if isReading {
                    take(machine.readBack(id, isMade: ledger.contains(id), at: instant, random: 0.5), id)
                } else {
                    takeEffect(id)
                    take(machine.noteSent(id, .made, at: instant, random: 0.5), id)
                }
            }
            check()
            now += 400
            if stored.values.allSatisfy({ write in
                write.isUnknown || stored.values.contains { $0.isUnknown && $0.record == write.record }
            }) {
                return
            }
        }
        problems.append("\(stored.count) writes are never sent")
    }
}

@Suite struct PendingWritesTests {
    @Test(arguments: [true, false])
    func `no generated history loses a write, makes one twice or has two of a record under way`(honoursKeys: Bool) {
        for seed in 0..<2_000 as Range<UInt64> {
            var model = PendingWriteModel(seed: seed, honoursKeys: honoursKeys)
            for _ in 0..<120 where model.problems.isEmpty { model.step() }
            if model.problems.isEmpty { model.finish() }
            #expect(model.problems == [], "seed \(seed)")
            guard model.problems.isEmpty else { return }
        }
    }

    private func at(_ seconds: Double) -> WireDate { WireDate(secondsSinceReferenceDate: seconds) }

    @Test func `writes of a record go one after the other, those of others beside them`() {
        var machine = PendingWrites(honoursKeys: true)
        machine.add("a1", of: "a", at: 1)
        machine.add("a2", of: "a", at: 2)
        machine.add("b1", of: "b", at: 3)
        #expect(machine.next(at: at(0)) == .send("a1"))
        #expect(machine.next(at: at(0)) == .send("b1"))
        #expect(machine.next(at: at(0)) == .wait(until: nil))
        #expect(machine.noteSent("a1", .made, at: at(0), random: 0) == .settle)
        #expect(machine.next(at: at(0)) == .send("a2"))
    }

    @Test func `a write that comes late goes before those that wait, and not beside one that is under way`() {
        var machine = PendingWrites(honoursKeys: true)
        machine.add("a2", of: "a", at: 2)
        #expect(machine.next(at: at(0)) == .send("a2"))
        machine.add("a3", of: "a", at: 3)
        machine.add("a1", of: "a", at: 1)
        #expect(machine.next(at: at(0)) == .wait(until: nil))
        #expect(machine.noteSent("a2", .made, at: at(0), random: 0) == .settle)
        #expect(machine.next(at: at(0)) == .send("a1"))
        #expect(machine.next(at: at(0)) == .wait(until: nil))
        #expect(machine.noteSent("a1", .made, at: at(0), random: 0) == .settle)
        #expect(machine.next(at: at(0)) == .send("a3"))
    }

    @Test func `a write that was not made waits twice as long after each failure, and holds up its record alone`() {
        var machine = PendingWrites(honoursKeys: false)
        machine.add("a1", of: "a", at: 1)
        machine.add("a2", of: "a", at: 2)
        var now = 0.0
        for pause in [1.0, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300] {
            #expect(machine.next(at: at(now)) == .send("a1"))
            #expect(machine.noteSent("a1", .notMade, at: at(now), random: 1) == .sendAgain)
            #expect(machine.next(at: at(now)) == .wait(until: at(now + pause)))
            now += pause
        }
        machine.add("b1", of: "b", at: 3)
        #expect(machine.next(at: at(now - 1)) == .send("b1"))
    }

    @Test func `without keys a write of unknown outcome is looked for and never sent again by itself`() {
        var machine = PendingWrites(honoursKeys: false)
        machine.add("a1", of: "a", at: 1)
        machine.add("a2", of: "a", at: 2)
        #expect(machine.next(at: at(0)) == .send("a1"))
        #expect(machine.noteSent("a1", .unknown, at: at(0), random: 1) == .readBack)
        var now = 0.0
        for count in 1...PendingWrites.mostReadBacks {
            #expect(machine.next(at: at(now)) == .readBack("a1"))
            let step = machine.readBack("a1", isMade: false, at: at(now), random: 1)
            #expect(step == (count == PendingWrites.mostReadBacks ? .staysUnknown : .readBack))
            now += 100
        }
        #expect(machine.next(at: at(now)) == .wait(until: at(PendingWriteRecords.longestLock)))
        #expect((machine.unknown, machine.pending) == (1, 1))
        let done1 = machine.retry("a1")
        #expect(done1)
        #expect(machine.next(at: at(now)) == .send("a1"))
        #expect(machine.noteSent("a1", .made, at: at(now), random: 1) == .settle)
        #expect(machine.next(at: at(now)) == .send("a2"))
    }

    @Test func `a write that was sent before a restart is looked for where no keys are honoured, else sent again`() {
        for honoursKeys in [true, false] {
            var machine = PendingWrites(honoursKeys: honoursKeys)
            machine.add("a1", of: "a", at: 1, wasSent: true)
            #expect(machine.next(at: at(0)) == (honoursKeys ? .send("a1") : .readBack("a1")))
        }
    }

    @Test func `a caller who waits is told at once that nothing was sent, and one who left has the write removed`() {
        var machine = PendingWrites(honoursKeys: false)
        machine.add("a1", of: "a", at: 1, isThrough: true)
        machine.add("a2", of: "a", at: 2, isThrough: true)
        #expect(machine.next(at: at(0)) == .send("a1"))
        let done2 = machine.abandon("a1")
        #expect(!done2)
        let done3 = machine.abandon("a2")
        #expect(done3)
        #expect(machine.noteSent("a1", .notMade, isAwaited: true, at: at(0), random: 0) == .giveUp)
        #expect(machine.next(at: at(0)) == .wait(until: nil))
        #expect(machine.pending == 0)
    }

    @Test func `an operator drops what is not under way, and what waits behind it goes on`() {
        var machine = PendingWrites(honoursKeys: false)
        machine.add("a1", of: "a", at: 1, isUnknown: true)
        machine.add("a2", of: "a", at: 2)
        #expect(machine.next(at: at(0)) == .wait(until: nil))
        let done4 = machine.drop("a1")
        #expect(done4)
        #expect(machine.unknown == 0)
        #expect(machine.next(at: at(0)) == .send("a2"))
        let done5 = machine.drop("a2")
        #expect(!done5)
        let done6 = machine.retry("a2")
        #expect(!done6)
    }

    @Test func `with keys a write stays unknown after ten tries, and is counted`() {
        var machine = PendingWrites(honoursKeys: true)
        machine.add("a1", of: "a", at: 1)
        for count in 1...PendingWrites.mostLosses {
            #expect(machine.next(at: at(Double(count) * 300)) == .send("a1"))
            let step = machine.noteSent("a1", .unknown, at: at(Double(count) * 300), random: 0)
            #expect(step == (count == PendingWrites.mostLosses ? .staysUnknown : .sendAgain))
        }
        #expect((machine.unknown, machine.pending) == (1, 0))
    }

    @Test func `with keys a write stays unknown after an hour, whatever fails then`() {
        for outcome in [PendingWrites.Sent.unknown, .notMade] {
            var machine = PendingWrites(honoursKeys: true)
            machine.add("a1", of: "a", at: 1)
            #expect(machine.next(at: at(0)) == .send("a1"))
            #expect(machine.noteSent("a1", .unknown, at: at(0), random: 0) == .sendAgain)
            #expect(machine.next(at: at(3_599)) == .send("a1"))
            #expect(machine.noteSent("a1", outcome, at: at(3_599), random: 0) == .sendAgain)
            #expect(machine.next(at: at(3_700)) == .send("a1"))
            #expect(machine.noteSent("a1", outcome, at: at(3_700), random: 0) == .staysUnknown)
        }
    }

    @Test func `a write that nobody decides about holds up its record for a week, and is counted for ever`() {
        var machine = PendingWrites(honoursKeys: true)
        machine.add("a1", of: "a", at: 1)
        machine.add("a2", of: "a", at: 2)
        #expect(machine.next(at: at(0)) == .send("a1"))
        #expect(machine.noteSent("a1", .unknown, at: at(0), random: 0) == .sendAgain)
        #expect(machine.next(at: at(3_600)) == .send("a1"))
        #expect(machine.noteSent("a1", .unknown, at: at(3_600), random: 0) == .staysUnknown)
        let end = PendingWriteRecords.longestLock
        #expect(machine.next(at: at(end - 1)) == .wait(until: at(end)))
        #expect(machine.next(at: at(end)) == .send("a2"))
        #expect(machine.unknown == 1)
        let isAgain = machine.retry("a1")
        #expect(isAgain)
        // Not beside the one that is under way.
        #expect(machine.next(at: at(end)) == .wait(until: nil))
        #expect(machine.noteSent("a2", .made, at: at(end), random: 0) == .settle)
        #expect(machine.next(at: at(end)) == .send("a1"))
    }

    @Test func `a write that is not made for a week is given up, and one whose outcome was lost is not`() {
        var machine = PendingWrites(honoursKeys: true)
        machine.add("a1", of: "a", at: 1, created: at(0))
        let end = PendingWrites.longestWait
        #expect(machine.next(at: at(end - 1)) == .send("a1"))
        #expect(machine.noteSent("a1", .notMade, at: at(end - 1), random: 0) == .sendAgain)
        #expect(machine.next(at: at(end)) == .send("a1"))
        #expect(machine.noteSent("a1", .notMade, at: at(end), random: 0) == .expire)
        #expect(machine.pending == 0)
    }

    @Test func `an author's one write is not behind another's six hundred, and one place is left for it`() {
        var machine = PendingWrites(honoursKeys: true)
        for number in 0..<600 as Range<Int64> {
            let id = RecordID(unchecked: "a\(number)")
            machine.add(id, of: id, by: "alice", at: number)
        }
        var sent: [RecordID] = []
        while case .send(let id) = machine.next(at: at(0)) { sent.append(id) }
        #expect(sent.count == PendingWrites.mostOfAuthor)
        machine.add("b", of: "b", by: "bob", at: 600)
        #expect(machine.next(at: at(0)) == .send("b"))
        machine.add("c", of: "c", by: "carol", at: 601)
        #expect(machine.next(at: at(0)) == .wait(until: nil))
        #expect(machine.noteSent(sent[0], .made, at: at(0), random: 0) == .settle)
        #expect(machine.next(at: at(0)) == .send("c"))
        #expect(machine.noteSent("b", .made, at: at(0), random: 0) == .settle)
        #expect(machine.noteSent("c", .made, at: at(0), random: 0) == .settle)
        #expect(machine.next(at: at(0)) == .send("a15"))
    }

    @Test func `writes of a record that gets another id are in one order with those of that id`() {
        var machine = PendingWrites(honoursKeys: true)
        machine.add("a1", of: "a", at: 1)
        machine.add("a2", of: "a", at: 2)
        machine.add("a4", of: "a", at: 4)
        #expect(machine.next(at: at(0)) == .send("a1"))
        machine.move("a", to: "n")
        machine.add("n3", of: "n", at: 3)
        machine.add("a5", of: "a", at: 5)
        #expect(machine.next(at: at(0)) == .wait(until: nil))
        machine.noteMoved("a")
        #expect(machine.noteSent("a1", .made, at: at(0), random: 0) == .settle)
        for id in ["a2", "n3", "a4", "a5"] as [RecordID] {
            #expect(machine.next(at: at(0)) == .send(id))
            #expect(machine.next(at: at(0)) == .wait(until: nil))
            #expect(machine.noteSent(id, .made, at: at(0), random: 0) == .settle)
        }
    }
}
