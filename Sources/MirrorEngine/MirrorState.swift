import AdapterKit
import RecordStorage

/// The state that is stored of a mirror beside its records, in the transaction that changes them.
public struct MirrorState: Sendable, Equatable {
    /// When the other system had the state that the records have; nil: they were never fetched.
    public var asOf: WireDate?
    /// Since what changes are asked for next; nil: every row is.
    public var cursor: String?
    /// The system that the rows came from; nil: they were never fetched, or that was not stored then.
    public var upstream: UpstreamName?
    /// The fields that the other system's rows had.
    public var fields: Set<String> = []
    /// The fields that the entity had at the last refresh; nil: that was not stored then.
    public var declared: Set<String>?
    /// Fields that were reported as not being as they were.
    public var drifts: Set<FieldDrift> = []
    /// The rows with values that do not fit their fields.
    public var misfits = MirrorMisfits()

    /// The state of a mirror that was never fetched.
    public init() {}

    /// Reads ``stored``. What is missing is as in a mirror that was never fetched.
    public init(_ stored: WireDictionary?) {
        asOf = stored?[MirrorStateField.asOf]?.dateValue
        cursor = stored?["cursor"]?.stringValue
        upstream = stored?["upstream"]?.stringValue.flatMap { UpstreamName($0) }
        fields = Set((stored?["fields"]?.arrayValue ?? []).compactMap(\.stringValue))
        declared = stored?["declared"]?.arrayValue.map { Set($0.compactMap(\.stringValue)) }
        drifts = Set((stored?["drifts"]?.arrayValue ?? []).compactMap(\.stringValue).compactMap(FieldDrift.init))
        misfits = MirrorMisfits(stored?["misfits"])
    }

    /// As far as it is of this system: the rows of another one are as if they had never been fetched.
    public func of(_ system: UpstreamName) -> MirrorState {
        upstream.map { $0 == system } ?? true ? self : MirrorState()
    }

    /// The fields of an entity that had not been declared at the last refresh: no record has a value of the other system
    /// in them. Empty where there was no refresh, or it is not known what was declared then.
    public func addedFields(in entity: Entity) -> Set<FieldName> {
        guard let declared else { return [] }
        return Set(entity.fields.map(\.name).filter { !declared.contains($0.text) })
    }

    /// As the store keeps it.
    public var stored: WireDictionary {
        var stored: WireDictionary = [
            "fields": .array(fields.sorted().map { .string($0) }),
            "drifts": .array(drifts.sorted().map { .string($0.description) }), "misfits": misfits.stored,
        ]
        if let declared { stored["declared"] = .array(declared.sorted().map { .string($0) }) }
        if let asOf { stored[MirrorStateField.asOf] = .date(asOf) }
        if let cursor { stored["cursor"] = .string(cursor) }
        if let upstream { stored["upstream"] = .string(upstream.text) }
        return stored
    }
}
