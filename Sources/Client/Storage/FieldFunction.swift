import Foundation
import GRDB
import ValueTree
import WireFormats

/// The SQL function `field(fields, name)`: a field as SQLite compares it. Lists, dictionaries and sealed fields are null.
enum FieldFunction {
    static let function = DatabaseFunction("field", argumentCount: 2, pure: true) { arguments in
        guard let bytes = Data.fromDatabaseValue(arguments[0]), let name = String.fromDatabaseValue(arguments[1]),
            let value = try CBORFormat().read([UInt8](bytes))[name]
        else { return nil }
        return value.comparable
    }
}

extension WireValue {
    /// Numbers compare as numbers, dates by their seconds, text and data by their bytes.
    package var comparable: (any DatabaseValueConvertible)? {
        switch self {
        case .bool(let flag): flag
        case .int64(let number): number
        case .uint64(let number): Double(number)
        case .double(let number): number
        case .decimal(let number): Double("\(number)")
        case .string(let text): text
        case .data(let bytes): Data(bytes)
        case .date(let instant): instant.secondsSinceReferenceDate
        case .null, .array, .dictionary, .uid: nil
        }
    }
}
