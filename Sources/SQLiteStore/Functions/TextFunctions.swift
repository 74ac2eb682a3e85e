import AdapterKit
import Foundation

/// Texts by Unicode's rules, where SQLite knows ASCII alone.
enum TextFunctions {
    static let all: [SQLFunction] = [
        // By bytes, so that case, accents and NUL characters count.
        .strict("contains", 2) { .flag(try firstIndex($0) != nil) },
        .strict("indexOf", 2) { arguments in
            guard let index = try firstIndex(arguments) else { return .integer(-1) }
            return arguments.withBytes(0) { bytes in
                // A character has one byte that is no continuation of another.
                .integer(Int64(bytes[..<index].count { $0 & 0xC0 != 0x80 }))
            }
        },
        .strict("startsWith", 2) { arguments in
            arguments.withBytes(0) { text in arguments.withBytes(1) { .flag(text.starts(with: $0)) } }
        },
        .strict("endsWith", 2) { arguments in
            arguments.withBytes(0) { text in
                arguments.withBytes(1) { .flag(text.suffix($0.count).elementsEqual($0)) }
            }
        },
        .strict("matches", 2) { arguments in
            guard let pattern = Pattern.compiled(arguments.text(1)) else { return .null }
            return .flag(try pattern.matches(arguments.text(0), spend: arguments.spend))
        },
        .strict("lowercase", 1) { .text($0.text(0).lowercased()) },
        .strict("uppercase", 1) { .text($0.text(0).uppercased()) },
        .strict("trim", 1) { .text(trimmed($0.text(0))) },
        .strict("replace", 3) { arguments in
            try arguments.withBytes(0) { text in
                try arguments.withBytes(1) { old in
                    try arguments.withBytes(2) { new in
                        let search = ByteSearch(text: text, pattern: old, work: arguments.work)
                        return try replaced(search, by: new).map(SQLValue.textBytes) ?? .null
                    }
                }
            }
        },
        .strict("substring", -1) { arguments in
            let count = arguments.count > 2 ? arguments.integer(2) : Int64.max
            return .text(substring(arguments.text(0), from: arguments.integer(1), count))
        },
    ]

    /// The index of the second text in the first one; nil: it is not there.
    private static func firstIndex(_ arguments: SQLArguments) throws -> Int? {
        try arguments.withBytes(0) { text in
            try arguments.withBytes(1) { pattern in
                try ByteSearch(text: text, pattern: pattern, work: arguments.work).firstIndex()
            }
        }
    }

    private static func trimmed(_ text: String) -> String {
        let scalars = text.unicodeScalars
        guard let start = scalars.firstIndex(where: { !$0.properties.isWhitespace }),
            let end = scalars.lastIndex(where: { !$0.properties.isWhitespace })
        else { return "" }
        return String(scalars[start...end])
    }

    /// Bytes that one replacement may become: replacements of replacements grow by their product.
    private static let maximumBytes = 1 << 20

    /// Nil beyond that.
    private static func replaced(_ search: ByteSearch, by new: UnsafeRawBufferPointer) throws -> [UInt8]? {
        let (text, old) = (search.text, search.pattern)
        guard !old.isEmpty else { return Array(text) }
        var output: [UInt8] = []
        var at = 0
        while let found = try search.firstIndex(from: at) {
            output += text[at..<found]
            output += new
            at = found + old.count
            guard output.count <= maximumBytes else { return nil }
            try search.work?.spend(new.count)
        }
        output += text[at...]
        return output.count <= maximumBytes ? output : nil
    }

    /// A start before the beginning is the beginning.
    private static func substring(_ text: String, from start: Int64, _ count: Int64) -> String {
        guard count > 0 else { return "" }
        let scalars = text.unicodeScalars
        let length = Int64(scalars.count)
        let first = start < 0 ? max(0, length + start) : min(start, length)
        let taken = min(count, length - first)
        return String(String.UnicodeScalarView(scalars.dropFirst(Int(first)).prefix(Int(taken))))
    }
}

extension SQLValue {
    static func flag(_ value: Bool) -> SQLValue { .integer(value ? 1 : 0) }
}

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
            return value.decimalValue.map { .decimal($0) }
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
            guard let from = RowValueType(rawValue: arguments.text(0)), let to = RowValueType(rawValue: kind),
                let value = try from.value(arguments, 1), let converted = body(value)
            else { return .null }
            return to.stored(converted) ?? .null
        }
    }
}

extension RowValueType {
    /// An argument of this kind as a value.
    func value(_ arguments: SQLArguments, _ position: Int) throws -> WireValue? {
        switch self {
        case .bool: .bool(arguments.integer(position) != 0)
        case .integer: .int64(arguments.integer(position))
        case .double: .double(arguments.real(position))
        case .decimal: arguments.decimal(position).map { .decimal($0.wire) }
        case .text: .string(arguments.text(position))
        case .date: arguments.instant(position).map { .date($0) }
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
