import AdapterKit
import ODataModel
import ODataRecords

/// What a model's capabilities let be done with the entities of a set. Each restriction counts by itself.
struct SetCapabilities: Sendable {
    enum Action: Sendable {
        case insert
        case update
        case delete

        fileprivate var term: (name: String, property: String) {
            switch self {
            case .insert: (CoreTerm.insertRestrictions, "Insertable")
            case .update: (CoreTerm.updateRestrictions, "Updatable")
            case .delete: (CoreTerm.deleteRestrictions, "Deletable")
            }
        }

        /// Completes the sentence that begins with the set.
        var refusal: String {
            switch self {
            case .insert: "takes no new entities"
            case .update: "has entities that do not change"
            case .delete: "has entities that stay"
            }
        }
    }

    private let annotations: Annotations?

    init(_ table: RecordTable, of model: EntityDataModel) {
        annotations =
            model.container.entitySet(table.source)?.annotations ?? model.container.singleton(table.source)?.annotations
    }

    func allow(_ action: Action) -> Bool {
        annotations?[action.term.name]?[action.term.property]?.boolValue != false
    }
}
