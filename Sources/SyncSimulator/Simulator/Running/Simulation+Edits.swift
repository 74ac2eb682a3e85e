import SyncDevice
import SyncMessages
import ValueTree
import WireFormats

extension Simulation {
    mutating func edit(_ device: Int) throws {
        guard let collection = random.pick(Lab.editable) else { return }
        let known = devices[device].machine.state.records(of: collection).map { RecordKey(collection, $0.id) }
        let choice = random.below(10)
        guard choice >= 3, let key = random.pick(known) else { return create(device, collection) }
        if choice == 3 { return make(LocalEdit(key, .delete), device, mark: nextMark(device)) }
        let mark = nextMark(device)
        let names = Lab.markedFields.filter { _ in random.chance(40) }
        var fields = marked(names.isEmpty ? ["a"] : names, mark, device)
        // Into another room, and so out of sight for some.
        if collection == "tasks", random.chance(15), let room = random.pick(Lab.roomIDs) {
            fields["room"] = .string(room)
        }
        make(LocalEdit(key, .update(fields)), device, mark: mark)
    }

    private mutating func create(_ device: Int, _ collection: String) {
        let mark = nextMark(device)
        var key = RecordKey(collection, "\(collection)-\(mark)")
        let gone = deletedKeys.filter { $0.collection == collection }
        if random.chance(20), let again = random.pick(gone) { key = again }
        var fields = marked(Lab.markedFields, mark, device)
        // One field tells whose record it is.
        if fields.keys.allSatisfy({ fields[$0] == .null }) { fields["a"] = .string(mark) }
        if collection == "tasks", let room = random.pick(Lab.roomIDs) { fields["room"] = .string(room) }
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
