import AdapterKit

/// Values of one kind as another's: `(kind, value)`. Null where the value has no counterpart.
enum ConversionFunctions {
    static let all: [SQLFunction] = [
        conversion("text") { value in
            switch value {
            case .string: value
            case .bool(let flag): .string(flag ? "true" : "false")
            case .int64(let number): .string(String(number))
            case .double(let number): .string(number.description)
            case .decimal(let number): .string(number.description)
            case .date(let instant): instant.rfc3339.map { .string($0) }
            default: nil
            }
        },
        conversion("integer") { value in
            switch value {
            case .bool(let flag): .int64(flag ? 1 : 0)
            case .double(let number): Int64(exactly: number.rounded(.towardZero)).map { .int64($0) }
            case .decimal(let number): ExactDecimal(number).integer.map { .int64($0) }
            case .string(let text): Int64(text).map { .int64($0) }
            default: nil
            }
        },
        conversion("decimal") { value in
            if case .string(let text) = value { return WireDecimal(text).map { .decimal($0) } }
            return value.asDecimal.map { .decimal($0) }
        },
        conversion("double") { value in
            switch value {
            case .int64(let number): .double(Double(number))
            case .decimal(let number): Double(number.description).map { .double($0) }
            case .string(let text): Double(text).map { .double($0) }
            default: nil
            }
        },
        conversion("date") { value in
            guard case .string(let text) = value else { return nil }
            return (WireDate(rfc3339: text) ?? WireDate(rfc3339: text + "T00:00:00Z")).map { .date($0) }
        },
    ]

    private static func conversion(_ kind: String, _ body: @escaping @Sendable (WireValue) -> WireValue?) -> SQLFunction
    {
        .strict("to_\(kind)", 2) { arguments in
            guard let from = RowKind(rawValue: arguments.text(0)), let to = RowKind(rawValue: kind),
                let value = try from.value(arguments, 1), let converted = body(value)
            else { return .null }
            return to.stored(converted) ?? .null
        }
    }
}

extension RowKind {
    /// An argument of this kind as a value.
    func value(_ arguments: SQLArguments, _ position: Int) throws -> WireValue? {
        switch self {
        case .bool: .bool(arguments.integer(position) != 0)
        case .integer: .int64(arguments.integer(position))
        case .double: .double(arguments.real(position))
        case .decimal: arguments.decimal(position).map { .decimal($0.wire) }
        case .text: .string(arguments.text(position))
        case .date: .date(WireDate(secondsSinceReferenceDate: arguments.real(position)))
        case .data: .data(arguments.blob(position))
        case .tree: try EncodedValue.decode(arguments.blob(position))
        }
    }

    /// A value of this kind as expressions have it; nil for one of another.
    func stored(_ value: WireValue) -> SQLValue? {
        if let scalar { return scalar.comparable(value) }
        switch value {
        case .array, .dictionary: return (try? EncodedValue.encode(value)).map { .blob($0) }
        default: return nil
        }
    }
}
