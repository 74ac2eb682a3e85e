import GRDBSQLite

/// SQLite's types of values, without its header in every file.
enum SQLType {
    static let integer = SQLITE_INTEGER
    static let real = SQLITE_FLOAT
    static let text = SQLITE_TEXT
}

/// What SQLite does not do with doubles as IEEE 754 does. A result that is no number is null.
enum DoubleFunctions {
    static let all: [SQLFunction] = [
        .strict("double_divide", 2) { result($0.real(0) / $0.real(1)) },
        .strict("double_remainder", 2) { result($0.real(0).truncatingRemainder(dividingBy: $0.real(1))) },
        .strict("double_round", 1) { result($0.real(0).rounded(.toNearestOrAwayFromZero)) },
        .strict("double_floor", 1) { result($0.real(0).rounded(.down)) },
        .strict("double_ceiling", 1) { result($0.real(0).rounded(.up)) },
    ]

    private static func result(_ number: Double) -> SQLValue { number.isNaN ? .null : .real(number) }
}
