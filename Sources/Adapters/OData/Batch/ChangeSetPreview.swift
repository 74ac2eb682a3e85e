import AdapterKit

/// The records of a change set as they will be, before any of it is written.
struct ChangeSetPreview: Sendable {
    private enum State {
        /// Made by the change set, with these fields.
        case created(WireDictionary)
        /// There before, these fields are set.
        case changed(WireDictionary)
        case deleted
    }

    private var states: [EntityName: [RecordID: State]] = [:]

    mutating func add(_ change: RecordChange) {
        switch change.action {
        case .create(let id?, let fields), .replace(let id, let fields, _):
            states[change.entity, default: [:]][id] = .created(fields)
        case .create(nil, _): break
        case .update(let id, let fields):
            states[change.entity, default: [:]][id] = Self.setting(fields, in: states[change.entity]?[id])
        case .delete(let id): states[change.entity, default: [:]][id] = .deleted
        }
    }

    private static func setting(_ fields: WireDictionary, in state: State?) -> State {
        switch state {
        case .created(let earlier): .created(earlier.setting(fields))
        case .changed(let earlier): .changed(earlier.setting(fields))
        case .deleted, nil: .changed(fields)
        }
    }

    func has(_ id: RecordID, in entity: EntityName) -> Bool { states[entity]?[id] != nil }

    /// What a record that is this now, or is not there, will be.
    func record(_ id: RecordID, in entity: EntityName, _ current: Record?) -> Record? {
        switch states[entity]?[id] {
        case nil: current
        case .created(let fields): Record(id: id, revision: Revision(0), fields: fields)
        case .changed(let fields):
            current.map { Record(id: id, revision: $0.revision, fields: $0.fields.setting(fields)) }
        case .deleted: nil
        }
    }
}

extension WireDictionary {
    fileprivate func setting(_ members: WireDictionary) -> WireDictionary {
        var all = self
        for member in members { all[member.key] = member.value }
        return all
    }
}
