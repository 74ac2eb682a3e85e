import AdapterKit
import RecordStorage
import SyncMessages

/// Whether two changes of one record can both be made: a three-way merge whose common ancestor is known by the names of
/// the fields that were changed since, which the log keeps.
struct FieldMerge {
    private let snapshot: any StoreSnapshot

    init(_ snapshot: any StoreSnapshot) {
        self.snapshot = snapshot
    }

    /// Where no field was changed to different values on both sides. False where the log no longer tells.
    func isPossible(
        _ fields: WireDictionary, _ current: Record, _ target: MutationTarget, base: Revision?
    ) throws -> Bool {
        guard let changed = try fieldsChanged(since: base, target) else { return false }
        return fields.allSatisfy { entry in
            !changed.contains(entry.key) || current.fields[entry.key] == entry.value
                || target.collection.entity.isFilledByServer(entry.key)
        }
    }

    /// Nil where the record was made anew, or where the log does not reach back to that revision.
    func fieldsChanged(since base: Revision?, _ target: MutationTarget) throws -> Set<String>? {
        guard let base else { return nil }
        let entries = try RowHistory(snapshot: snapshot).entries(of: target.id, in: target.collection.id, since: base)
        guard entries.last?.previousRevision == base else { return nil }
        var names: Set<String> = []
        for entry in entries {
            guard let changed = entry.changedFields else { return nil }
            names.formUnion(changed.map(\.text))
        }
        return names
    }
}

extension Entity {
    /// What a device sends for it is ignored, so it takes part in no conflict.
    fileprivate func isFilledByServer(_ name: String) -> Bool {
        switch fields.first(where: { $0.name.text == name })?.source {
        case .creator, .createdAt, .modifiedAt, .createdPosition, .rules: true
        default: false
        }
    }
}
