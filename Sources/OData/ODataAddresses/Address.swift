import AdapterKit
import ODataLanguage
import ODataModel
import ODataRecords

/// What a resource path addresses, by the model; nothing is looked up yet.
public struct Address: Sendable {
    public indirect enum Target: Sendable {
        case entities(EntityCollectionPath)
        case entity(EntityPlace)
        /// A structural property, perhaps inside of complex ones.
        case property(EntityPlace, PropertyPath)
        /// A stream property, or a media entity's stream (`$value`).
        case stream(EntityPlace, name: String)
        case operation(OperationCall)
    }

    public enum Suffix: Sendable, Equatable {
        case none, count, ref, value
    }

    public let target: Target
    public let suffix: Suffix

    public init(target: Target, suffix: Suffix) {
        self.target = target
        self.suffix = suffix
    }
}

/// Entities of one table.
public struct EntityCollectionPath: Sendable {
    public let table: RecordTable
    /// What the path narrowed them to.
    public let type: StructuredType
    public let origin: Origin

    public init(table: RecordTable, type: StructuredType, origin: Origin) {
        self.table = table
        self.type = type
        self.origin = origin
    }

    public indirect enum Origin: Sendable {
        case all
        case related(to: EntityPlace, by: RecordRelation, name: String)
        /// `$filter(…)` as a segment.
        case filtered(EntityCollectionPath, Expression)
    }
}

/// One entity, if it is there.
public struct EntityPlace: Sendable {
    public let table: RecordTable
    public let type: StructuredType
    public let origin: Origin

    public init(table: RecordTable, type: StructuredType, origin: Origin) {
        self.table = table
        self.type = type
        self.origin = origin
    }

    public indirect enum Origin: Sendable {
        case key(RecordID)
        case related(to: EntityPlace, by: RecordRelation, name: String)
        /// The one with the key among these.
        case member(of: EntityCollectionPath, RecordID)
    }
}

public struct PropertyPath: Sendable {
    public let column: RecordColumn
    /// Within complex values, after the column's own name.
    public let inner: [String]
    public let type: TypeReference

    public var path: String { ([column.property] + inner).joined(separator: "/") }
}

/// A function or an action with what it is bound to and the arguments that the URL gives.
public struct OperationCall: Sendable {
    /// The overloads that may be meant; an action's are told apart by its body.
    public let overloads: [SchemaOperation]
    public let binding: Binding
    /// By parameter, in stored form.
    public let arguments: [String: WireValue]
    public let importedSet: String?

    public enum Binding: Sendable {
        case none
        case entity(EntityPlace)
        case entities(EntityCollectionPath)
    }
}

/// Why a path addresses nothing, and where in the raw text it stops doing so.
public struct AddressProblem: Error, Sendable {
    public let error: PorticoError
    public let range: SourceRange?
    /// Whether it may be right and is only nothing that services answer.
    public let isUnsupported: Bool

    init(_ error: PorticoError, at range: SourceRange?, isUnsupported: Bool = false) {
        self.error = error
        self.range = range
        self.isUnsupported = isUnsupported
    }
}
