import AdapterKit

/// Reads typed values out of a stored record. What is not as it was written is the server's fault, not the caller's.
struct RecordReader {
    let record: Record

    init(_ record: Record) {
        self.record = record
    }

    func text(_ field: FieldName) throws -> String {
        try required(record[field].stringValue, field)
    }

    func name<Name: ValidatedName>(_ field: FieldName, as type: Name.Type = Name.self) throws -> Name {
        try required(record[field].stringValue.flatMap { Name($0) }, field)
    }

    func id<ID: OpaqueID>(as type: ID.Type = ID.self) throws -> ID {
        try required(ID(record.id.text), "id")
    }

    func choice<Choice: RawRepresentable<String>>(_ field: FieldName) throws -> Choice {
        try required(record[field].stringValue.flatMap { Choice(rawValue: $0) }, field)
    }

    func integer(_ field: FieldName) throws -> Int64 {
        try required(record[field].int64Value, field)
    }

    func date(_ field: FieldName) throws -> WireDate {
        try required(record[field].dateValue, field)
    }

    func digest(_ field: FieldName) throws -> SecretDigest {
        SecretDigest(stored: try required(record[field].dataValue, field))
    }

    func names<Name: ValidatedName>(_ field: FieldName, as type: Name.Type = Name.self) throws -> Set<Name> {
        let texts = try required(record[field].arrayValue?.map(\.stringValue), field)
        return Set(try texts.map { try required($0.flatMap { Name($0) }, field) })
    }

    /// Nil where the field holds null; otherwise what `read` makes of it.
    func optional<Value>(_ field: FieldName, _ read: (FieldName) throws -> Value) throws -> Value? {
        record[field].isNull ? nil : try read(field)
    }

    func required<Value>(_ value: Value?, _ field: FieldName) throws -> Value {
        guard let value else {
            throw PorticoError(
                .serverInternal, "A stored identity record can't be read.",
                logDetail: "record \(record.id), field \(field)")
        }
        return value
    }
}

extension WireValue {
    static func names<Name: ValidatedName>(_ names: Set<Name>) -> WireValue {
        .array(names.sorted().map { .string($0.text) })
    }

    static func optional(_ date: WireDate?) -> WireValue {
        date.map { .date($0) } ?? .null
    }

    static func digest(_ digest: SecretDigest) -> WireValue {
        .data(digest.bytes)
    }
}
