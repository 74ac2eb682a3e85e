import AdapterKit
import RecordStorage
import SyncDevice
import SyncMessages
import ValueTree

extension Simulation {
    /// Everything that must hold once the devices have come to rest.
    mutating func verify() async throws {
        for device in devices.indices { try checkJournal(device) }
        try checkEffectsHappenedOnce()
        try checkNothingRose()
        let kept = LosingWrites(try await server.keptCopies().map(\.copy))
        for (name, edit) in edits.sorted(by: { $0.key < $1.key }) { try check(edit, name, kept) }
        try await checkFreshDevice()
    }

    /// A mark comes into a field once and, once it is gone, never again.
    private func checkEffectsHappenedOnce() throws {
        var seen: Set<String> = []
        for entry in server.ledger.entries {
            guard let after = entry.after else { continue }
            for field in SimulatedAdapter.markedFields {
                guard let mark = after[field]?.stringValue, entry.before?[field]?.stringValue != mark else { continue }
                guard seen.insert("\(entry.key) \(field) \(mark)").inserted else {
                    throw Violation(2, "\(mark) was written to \(entry.key.id) twice")
                }
            }
        }
    }

    /// A record that was deleted is there again only where a caller made it anew.
    private func checkNothingRose() throws {
        let creations = Set(edits.values.filter { $0.edit.isCreation }.map(\.mark))
        for entry in server.ledger.entries where entry.before == nil && entry.key.collection != "rooms" {
            let marks = Set(SimulatedAdapter.markedFields.compactMap { entry.after?[$0]?.stringValue })
            guard entry.after == nil || (marks.count == 1 && marks.isSubset(of: creations)) else {
                throw Violation(6, "\(entry.key.id) came back from the dead")
            }
        }
    }

    private func check(_ edit: EditRecord, _ name: String, _ kept: LosingWrites) throws {
        guard let fate = edit.fate else { throw Violation(9, "edit \(name) of \(edit.edit.key.id) is lost") }
        switch fate.outcome.verdict {
        case .applied, .merged: try checkEffect(edit, name, fate, kept)
        case .conflict, .rejected:
            let copy = "\(devices[edit.device].clientID) \(fate.outcome.sequence)"
            let isLost = fate.epoch < server.ledger.epoch
            guard isLost || kept.sequences.contains(copy) || fate.outcome.isForgotten else {
                throw Violation(3, "edit \(name) of \(edit.edit.key.id) lost, and no copy is kept")
            }
        case .retry: throw Violation(4, "edit \(name) has no outcome")
        }
    }

    private func checkEffect(
        _ edit: EditRecord, _ name: String, _ fate: EditRecord.Fate, _ kept: LosingWrites
    ) throws {
        let position = fate.outcome.rev ?? 0
        guard !server.ledger.isLost(position, toldIn: fate.epoch) else { return }
        guard let entry = server.ledger.entry(at: position), entry.key == edit.edit.key else {
            throw Violation(3, "edit \(name) of \(edit.edit.key.id) was acknowledged, but is not there")
        }
        guard let fields = edit.edit.fields else {
            guard entry.after == nil else { throw Violation(3, "\(edit.edit.key.id) was not deleted") }
            return
        }
        for field in fields.keys where entry.after?[field] != fields[field] {
            throw Violation(3, "edit \(name) of \(edit.edit.key.id) was acknowledged, but \(field) is another")
        }
        try checkNothingOverwritten(edit, name, entry, kept)
    }

    /// An edit replaces only what the caller that made it knew of; where the last writer wins, a copy of the rest is kept.
    private func checkNothingOverwritten(
        _ edit: EditRecord, _ name: String, _ entry: Ledger.Entry, _ kept: LosingWrites
    ) throws {
        guard let before = entry.before, let fields = edit.edit.fields else { return }
        let replaced = edit.edit.key.collection == "tasks" ? SimulatedAdapter.markedFields : fields.keys
        // Its own writes a device knows, those too that a rejected one hid from sight.
        let own = "\(devices[edit.device].clientID)."
        let unseen = replaced.first { field in
            let value = before[field] ?? .null
            guard value != edit.seen[field] ?? .null, value != edit.base[field] ?? .null else { return false }
            return value.isNull ? !hasCleared(field, of: edit) : value.stringValue?.hasPrefix(own) != true
        }
        guard let unseen, edit.edit.key.collection != "boards" || !kept.holds(before[unseen], of: entry.key) else {
            return
        }
        throw Violation(
            3, "edit \(name) replaced \(before[unseen]?.stringValue ?? "nothing") of \(entry.key.id) unseen")
    }

    /// Whether the device itself has ever written a null there, which has no mark.
    private func hasCleared(_ field: String, of edit: EditRecord) -> Bool {
        edits.values.contains {
            $0.device == edit.device && $0.edit.key == edit.edit.key && $0.edit.fields?[field] == .null
        }
    }

    /// Pages of one operation each, from nothing, give the same.
    private mutating func checkFreshDevice() async throws {
        for person in SimulatedAdapter.people {
            var limits = DeviceLimits(pageOperations: 1 + random.below(3))
            limits.refetches = 0
            var device = Device(restoring: DeviceState(clientID: "fresh"), limits: limits)
            var actions = device.sync()
            for _ in 0..<10_000 {
                guard case .pull(let number, let request)? = actions.first(where: \.isPull) else { break }
                actions = device.pulled(number, .page(try await server.pull(request, for: person)))
            }
            var rows: [RecordKey: Int64] = [:]
            for name in SimulatedAdapter.names {
                for copy in device.state.rows.records(of: name) { rows[RecordKey(name, copy.id)] = copy.rev }
            }
            guard rows == server.oracle.visible(to: person) else {
                throw Violation(1, "a fresh device of \(person) gets something else")
            }
        }
    }
}

/// What did not become, or did not stay, a record.
private struct LosingWrites {
    /// Client and number.
    private(set) var sequences: Set<String> = []
    private var overwritten: [RecordKey: [WireDictionary]] = [:]

    init(_ copies: [LosingCopy]) {
        for copy in copies {
            sequences.insert("\(copy.client) \(copy.sequence)")
            guard let fields = copy.content["overwritten"]?.dictionaryValue else { continue }
            overwritten[RecordKey(copy.collection.entity.text, copy.id.text), default: []].append(fields)
        }
    }

    func holds(_ value: WireValue?, of key: RecordKey) -> Bool {
        overwritten[key, default: []].contains { fields in
            SimulatedAdapter.markedFields.contains { fields[$0] == value }
        }
    }
}

extension LocalEdit {
    fileprivate var isCreation: Bool {
        if case .create = action { true } else { false }
    }
}

extension DeviceAction {
    fileprivate var isPull: Bool {
        if case .pull = self { true } else { false }
    }
}

extension Simulation {
    /// What a crash would leave is what the device has: nothing changes but by the journal.
    func checkJournal(_ device: Int) throws {
        guard devices[device].isDurable else {
            throw Violation(1, "d\(device) has something that its journal does not have")
        }
    }

    /// The rows in sight are those of one snapshot, all of them: a pull is applied whole.
    func checkRows(_ device: Int) throws {
        guard let checkpoint = devices[device].machine.state.checkpoint else { return }
        let expected = rowsOfTokens["\(devices[device].person) \(checkpoint)"]
        guard devices[device].rows == expected else {
            let found = devices[device].rows
            let wrong = Set(found.keys).union(expected?.keys.map { $0 } ?? []).filter { found[$0] != expected?[$0] }
            throw Violation(
                1, "d\(device) shows rows of no checkpoint: \(wrong.sorted().map(\.id))")
        }
    }
}

/// Who may see which rows, worked out anew from what the rows say: not by the engine's filters.
struct Oracle {
    let ledger: Ledger
    let roles: [String: Set<RoleName>]

    /// The revisions of all rows that a person may see.
    func visible(to person: String) -> [RecordKey: Int64] {
        ledger.rows.filter { sees(person, $0.key, $0.value.fields) }.mapValues(\.rev)
    }

    func sees(_ person: String, _ key: RecordKey, _ fields: WireDictionary) -> Bool {
        switch key.collection {
        case "notes": fields["owner"] == .string(person) || Self.list(fields["sharedWith"]).contains(person)
        case "tasks": isMember(person, of: fields["room"]?.stringValue ?? "")
        case "rooms": isMember(person, of: key.id)
        case "reports": roles[person]?.contains(SimulatedAdapter.auditor) ?? false
        default: true
        }
    }

    func isMember(_ person: String, of room: String) -> Bool {
        Self.list(ledger.rows[RecordKey("rooms", room)]?.fields["members"]).contains(person)
    }

    private static func list(_ value: WireValue?) -> [String] { (value?.arrayValue ?? []).compactMap(\.stringValue) }
}
