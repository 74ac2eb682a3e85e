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
    /// Whether the key is one number whose digits are its literal.
    private let isDigits: Bool

    init(table: RecordTable, shape: ResultShape, model: EntityDataModel) {
        set = table.source
        begin = "\(table.source)("
        isSingleton = table.isSingleton
        form = Version2Form(model: model)
        parts = shape.outline.key ?? []
        let types = parts.map { model.version2Shape(of: $0.column.type) }
        isDigits = types.count == 1 && [.int32, .int16, .byte, .sByte].contains { types[0] == .simple($0) }
    }

    /// Of the row that has these values by their columns.
    func path<Failure>(_ values: (Int) throws(Failure) -> WireValue) throws(Failure) -> String {
        guard !isSingleton else { return set }
        if isDigits, case .int64(let number) = try values(parts[0].position) { return "\(begin)\(number))" }
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
