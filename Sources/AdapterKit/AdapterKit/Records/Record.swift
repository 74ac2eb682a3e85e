/// One record as the store has it.
public struct Record: Sendable, Equatable {
    public let id: RecordID
    public let revision: Revision
    /// All fields that hold a value or null, the key's too, in declared order.
    public let fields: WireDictionary

    public init(id: RecordID, revision: Revision, fields: WireDictionary) {
        self.id = id
        self.revision = revision
        self.fields = fields
    }

    public subscript(field: FieldName) -> WireValue {
        fields[field.text] ?? .null
    }
}

/// The store's operation id of a record's last change. It only grows, so a later state has a larger revision.
public struct Revision: Sendable, Hashable, Comparable, CustomStringConvertible {
    public let number: Int64

    public init(_ number: Int64) {
        self.number = number
    }

    public var description: String { String(number) }

    public static func < (left: Revision, right: Revision) -> Bool { left.number < right.number }
}
