import SyncDevice
import SyncMessages
import ValueTree
import WireFormats

extension Simulation {
    mutating func perform(_ device: Int, _ step: (inout Device) -> [DeviceAction]) {
        execute(step(&devices[device].machine), device)
    }

    /// Carries out what a device wants. It may die before any of it.
    mutating func execute(
        _ actions: [DeviceAction], _ device: Int, taking taken: TakenEdit? = nil, epoch: Int = .max
    ) {
        // In a file they are one transaction, as the client library makes of them.
        var steps = devices[device].isInFile ? [actions.entries] : actions.entries.map { [$0] }[...]
        for action in actions {
            if random.chance(faults.deviceDeath) { return die(device) }
            switch action {
            case .persist:
                guard let step = steps.popFirst() else { continue }
                guard persist(step, device, taken, epoch) else { return dieAtCommit(device) }
            case .stage(let piece):
                collected.count("pieces staged")
                guard devices[device].stage(piece, endingAfter: fuse(device)) else { return dieAtCommit(device) }
            case .pull(let number, let request): send(.pull, number, request.wireValue, device)
            case .push(let number, let request): send(.push, number, request.wireValue, device)
            case .wake(let pause):
                trace.add("d\(device) pauses for \(pause)")
                let event = SimulatedEvent.wake(device: device, process: devices[device].process)
                queue.schedule(event, at: clock.elapsed + Int(pause / .milliseconds(1)))
            case .report(let report): collected.count(report)
            }
        }
    }

    private mutating func dieAtCommit(_ device: Int) {
        collected.count("ends at a commit")
        die(device)
    }

    private mutating func die(_ device: Int) {
        trace.add("d\(device) dies")
        collected.count("device deaths")
        devices[device].restart()
        queue.schedule(.restart(device: device), at: clock.elapsed + random.below(SimulatedTime.hour))
    }

    /// Whether the device is still there.
    private mutating func persist(
        _ entries: [JournalEntry], _ device: Int, _ taken: TakenEdit?, _ epoch: Int
    ) -> Bool {
        let before = devices[device].durable.outbox
        guard devices[device].persist(entries, endingAfter: fuse(device)) else { return false }
        for entry in entries { note(entry, device, before, taken, epoch) }
        return true
    }

    /// After how many commits of the next step the device ends; nil: it does not, or has no file.
    private mutating func fuse(_ device: Int) -> Int? {
        guard devices[device].isInFile, random.chance(faults.commitDeath) else { return nil }
        return random.below(2)
    }

    private mutating func note(
        _ entry: JournalEntry, _ device: Int, _ before: Outbox, _ taken: TakenEdit?, _ epoch: Int
    ) {
        switch entry {
        case .edited(let pending), .resolved(_, let pending?):
            guard let taken else { break }
            edits["\(device)/\(pending.number)"] = EditRecord(
                device: device, edit: pending.edit, mark: taken.mark, seen: taken.seen,
                base: pending.base?.fields ?? [:])
        case .settled(let outcomes): for outcome in outcomes { settle(outcome, device, before, epoch) }
        default: break
        }
    }

    private mutating func settle(_ outcome: MutationOutcome, _ device: Int, _ before: Outbox, _ epoch: Int) {
        let pending = before.pending.first { $0.sequence == outcome.sequence }
        guard let pending else { return }
        collected.count("\(outcome.verdict.rawValue) \(outcome.reason ?? "")")
        trace.add("d\(device) learns that its edit \(pending.number) of \(pending.edit.key.id) is \(outcome.verdict)")
        edits["\(device)/\(pending.number)"]?.fate = EditRecord.Fate(outcome: outcome, epoch: epoch)
    }
}

extension [DeviceAction] {
    fileprivate var entries: [JournalEntry] {
        compactMap { if case .persist(let entry) = $0 { entry } else { nil } }
    }
}

extension SimulationCounts {
    mutating func count(_ report: DeviceReport) {
        switch report {
        case .pulled(startedOver: true): count("pulled anew")
        case .pulled: count("pulled")
        case .moved: count("moved")
        case .settled: break
        case .signInNeeded: count("sign-ins needed")
        case .scopesDisagree: count("scopes disagreed")
        case .pushRefused: count("pushes refused")
        }
    }
}

extension Simulation {
    mutating func edit(_ device: Int) throws {
        guard let collection = random.pick(SimulatedAdapter.editable) else { return }
        let known = devices[device].machine.state.records(of: collection).map { RecordKey(collection, $0.id) }
        let choice = random.below(10)
        guard choice >= 3, let key = random.pick(known) else { return create(device, collection) }
        if choice == 3 { return make(LocalEdit(key, .delete), device, mark: nextMark(device)) }
        let mark = nextMark(device)
        let names = SimulatedAdapter.markedFields.filter { _ in random.chance(40) }
        var fields = marked(names.isEmpty ? ["a"] : names, mark, device)
        // Into another room, and so out of sight for some.
        if collection == "tasks", random.chance(15), let room = random.pick(SimulatedAdapter.roomIDs) {
            fields["room"] = .string(room)
        }
        make(LocalEdit(key, .update(fields)), device, mark: mark)
    }

    private mutating func create(_ device: Int, _ collection: String) {
        let mark = nextMark(device)
        var key = RecordKey(collection, "\(collection)-\(mark)")
        let gone = deletedKeys.filter { $0.collection == collection }
        if random.chance(20), let again = random.pick(gone) { key = again }
        var fields = marked(SimulatedAdapter.markedFields, mark, device)
        // One field tells whose record it is.
        if fields.keys.allSatisfy({ fields[$0] == .null }) { fields["a"] = .string(mark) }
        if collection == "tasks", let room = random.pick(SimulatedAdapter.roomIDs) { fields["room"] = .string(room) }
        make(LocalEdit(key, .create(fields)), device, mark: mark)
    }

    private mutating func nextMark(_ device: Int) -> String {
        devices[device].editsMade += 1
        return "d\(device).\(devices[device].editsMade)"
    }

    /// Some become null, where the device's format can say so.
    private mutating func marked(_ names: [String], _ mark: String, _ device: Int) -> WireDictionary {
        let canClear = devices[device].format.traits.null
        var fields = WireDictionary()
        for name in names {
            let isCleared = canClear && random.chance(12)
            if isCleared { collected.count("nulls") }
            fields[name] = isCleared ? .null : .string(mark)
        }
        return fields
    }

    private mutating func make(_ edit: LocalEdit, _ device: Int, mark: String) {
        let seen = devices[device].machine.state[edit.key]?.fields ?? [:]
        guard let actions = try? devices[device].machine.edit(edit) else { return }
        if edit.fields == nil { deletedKeys.append(edit.key) }
        announce(edit, device, mark)
        execute(actions, device, taking: TakenEdit(mark: mark, seen: seen))
    }

    private mutating func announce(_ edit: LocalEdit, _ device: Int, _ mark: String) {
        collected.count("edits")
        trace.add("d\(device) edits \(edit.key.id) \(edit.fields.map { "\($0.keys) as \(mark)" } ?? "away")")
    }

    /// The person looks at what was set aside: lets it be, or writes anew over the server's copy.
    mutating func resolve(_ device: Int) {
        guard let aside = random.pick(devices[device].machine.state.outbox.setAside) else { return }
        let key = aside.pending.edit.key
        guard case .conflict(let copy?) = aside.cause, random.chance(60) else {
            trace.add("d\(device) gives up its edit of \(key.id)")
            return perform(device) { $0.resolve(aside.pending.number, with: nil) }
        }
        let mark = nextMark(device)
        let edit = LocalEdit(key, .update(marked(["a", "b"], mark, device)))
        announce(edit, device, mark)
        let actions = devices[device].machine.resolve(aside.pending.number, with: edit)
        execute(actions, device, taking: TakenEdit(mark: mark, seen: copy.fields))
    }
}

/// What a person saw when they made the edit that the next actions persist.
struct TakenEdit {
    let mark: String
    let seen: WireDictionary
}

/// One edit that a device took over, and its outcome.
struct EditRecord {
    let device: Int
    let edit: LocalEdit
    /// Stands in every field that the edit writes.
    let mark: String
    /// The record as the person saw it, and the server's part of that.
    let seen: WireDictionary
    let base: WireDictionary
    var fate: Fate?

    struct Fate {
        let outcome: MutationOutcome
        /// The history that the outcome belongs to.
        let epoch: Int
    }
}
