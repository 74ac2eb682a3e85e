import AdapterKit
import ODataLanguage
import ODataModel
import ODataRecords

/// What a resource path addresses, by the model; nothing is looked up yet.
struct Address: Sendable {
    indirect enum Target: Sendable {
        case entities(EntitiesPlace)
        case entity(EntityPlace)
        /// A structural property, perhaps inside of complex ones.
        case property(EntityPlace, PropertyPlace)
        /// A stream property, or a media entity's stream (`$value`).
        case stream(EntityPlace, name: String)
        case operation(OperationCall)
    }

    enum Suffix: Sendable, Equatable {
        case none, count, ref, value
    }

    let target: Target
    let suffix: Suffix
}

/// Entities of one table.
struct EntitiesPlace: Sendable {
    let table: RecordTable
    /// What the path narrowed them to.
    let type: StructuredType
    let origin: Origin

    indirect enum Origin: Sendable {
        case all
        case related(to: EntityPlace, by: RecordRelation, name: String)
        /// `$filter(…)` as a segment.
        case filtered(EntitiesPlace, Expression)
    }
}

/// One entity, if it is there.
struct EntityPlace: Sendable {
    let table: RecordTable
    let type: StructuredType
    let origin: Origin

    indirect enum Origin: Sendable {
        case key(RecordID)
        case related(to: EntityPlace, by: RecordRelation, name: String)
        /// The one with the key among these.
        case member(of: EntitiesPlace, RecordID)
    }
}

struct PropertyPlace: Sendable {
    let column: RecordColumn
    /// Within complex values, after the column's own name.
    let inner: [String]
    let type: TypeReference

    var path: String { ([column.property] + inner).joined(separator: "/") }
}

/// A function or an action with what it is bound to and the arguments that the URL gives.
struct OperationCall: Sendable {
    /// The overloads that may be meant; an action's are told apart by its body.
    let overloads: [SchemaOperation]
    let binding: Binding
    /// By parameter, in stored form.
    let arguments: [String: WireValue]
    let importedSet: String?

    enum Binding: Sendable {
        case none
        case entity(EntityPlace)
        case entities(EntitiesPlace)
    }
}
