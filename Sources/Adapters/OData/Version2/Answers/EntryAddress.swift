import AdapterKit
import ODataAddresses
import ODataModel
import ODataQueries
import ODataRecords

/// Makes entries' addresses of the values of their keys.
struct EntryAddress: Sendable {
    private let set: String
    /// Up to the key's value.
    private let begin: String
    private let parts: [ResultOutline.KeyPart]
    private let isSingleton: Bool
    private let form: Version2Form

    init(table: RecordTable, shape: ResultShape, model: EntityDataModel) {
        set = table.source
        begin = "\(table.source)("
        isSingleton = table.isSingleton
        form = Version2Form(model: model)
        parts = shape.outline.key ?? []
    }

    /// Of the row that has these values by their columns.
    func path<Failure>(_ values: (Int) throws(Failure) -> WireValue) throws(Failure) -> String {
        guard !isSingleton else { return set }
        if parts.count == 1 { return try begin + literal(parts[0], values) + ")" }
        let named = try parts.map { part throws(Failure) in
            "\(part.column.property)=\(try literal(part, values))"
        }
        return "\(set)(\(named.joined(separator: ",")))"
    }

    private func literal<Failure>(
        _ part: ResultOutline.KeyPart, _ values: (Int) throws(Failure) -> WireValue
    ) throws(Failure) -> String {
        form.address(try values(part.position), part.column.type)
    }
}

extension Version2Form {
    /// A value as a URL has it, percent-encoded.
    func address(_ value: WireValue, _ type: TypeReference) -> String {
        literal(value, type).map(LiteralText.escaped) ?? "null"
    }
}
